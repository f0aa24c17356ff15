import type { SignedPlace, SignedUser, UrlRenewal } from '../../graphql/cache/url-renewal.js';
import { isPictureSize, type PictureKind } from './signed-url.js';
import type { SignedUrls } from './signed-urls.js';

/** The start of the query of a signed URL, and the length of the rest that changes: `expires` has ten digits until 2286. */
const QUERY = '?expires=';
const CHANGING = '1763683200&signature='.length + 64;

const FORM = /\/(photo|picture)\/v1\/([^/?]+)\?expires=\d{10}&signature=[0-9a-f]{64}(?:&size=(\d+))?$/;

interface PicturePlace extends SignedPlace {
  readonly kind: PictureKind;
  readonly size: number | null;
  readonly user: SignedUser;
}

/** Finds signed URLs in the bytes of a response, and signs them again in place: their lengths do not change. */
export class SignedUrlPlaces implements UrlRenewal {
  constructor(private readonly urls: SignedUrls) {}

  locate(body: Buffer, users: readonly SignedUser[]): readonly PicturePlace[] | null {
    const byId = new Map(
      users.map(({ key, id, photoLevel, pictureLevel }) => [id, { key, id, photoLevel, pictureLevel }]),
    );
    const places: PicturePlace[] = [];
    for (let query = body.indexOf(QUERY); query >= 0; query = body.indexOf(QUERY, query + 1)) {
      const url = body.toString('utf8', body.lastIndexOf('"', query) + 1, body.indexOf('"', query));
      const [, kind, id = '', size] = FORM.exec(url) ?? [];
      const user = kind === undefined ? undefined : byId.get(decoded(id));
      if (user === undefined || (size !== undefined && !isPictureSize(Number(size)))) continue;
      const place = {
        at: query + QUERY.length,
        kind: kind as PictureKind,
        size: size === undefined ? null : Number(size),
        user,
      };
      // Another text can look like a signed URL, but not have the signature of this period.
      if (this.urlOf(place) === url) places.push(place);
    }
    return places.length === users.length ? places : null;
  }

  renew(body: Buffer, places: readonly PicturePlace[]): Buffer {
    const renewed = Buffer.from(body);
    for (const place of places) {
      const url = this.urlOf(place);
      const start = url.indexOf(QUERY) + QUERY.length;
      renewed.write(url.slice(start, start + CHANGING), place.at, 'latin1');
    }
    return renewed;
  }

  private urlOf({ kind, size, user }: Omit<PicturePlace, 'at'>): string {
    return this.urls.find(kind, user, size) ?? '';
  }
}

function decoded(id: string): string {
  try {
    return decodeURIComponent(id);
  } catch {
    // It is no URL of this service.
    return '';
  }
}
