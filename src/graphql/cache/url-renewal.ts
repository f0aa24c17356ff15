/** Signed URLs change with the quarter of an hour: browsers keep a photo meanwhile, and an entity tag stays valid. */
export const URL_PERIOD_MS = 900_000;

export function periodOfUrls(now: Date): number {
  return Math.ceil(now.getTime() / URL_PERIOD_MS);
}

/** A user of whom a response has a signed URL. */
export interface SignedUser {
  /** Primary key. */
  readonly key: number;
  readonly id: string;
  /** The level of the user, if the user has the picture. 0: everyone sees the user. */
  readonly photoLevel: number | null;
  readonly pictureLevel: number | null;
}

/** Where a signed URL stands in a body. */
export interface SignedPlace {
  /** Offset in bytes of the part that changes with the period. */
  readonly at: number;
}

/** Signs the URLs of a cached response again. src/media implements it. */
export interface UrlRenewal {
  /**
   * Finds the signed URLs of a body.
   * @param users those of whom the response has URLs, one for each URL
   * @returns null if they are not exactly the signed URLs of the body, for example because a description contains one
   */
  locate(body: Buffer, users: readonly SignedUser[]): readonly SignedPlace[] | null;
  /** Returns a copy with the URLs of the current period: the given body may still be in transit. */
  renew(body: Buffer, places: readonly SignedPlace[]): Buffer;
}
