import { Inject, Injectable } from '@nestjs/common';
import { Database } from '../database/database.js';
import { headersOfRead, type MirrorRead } from '../database/mirror-read.js';
import { Staleness } from '../database/staleness.js';
import { matchesEtag } from './etag.js';
import { findPictureBytes, findPictureDigest } from './picture.queries.js';
import { etagOf, PictureRenderer, type Rendering } from './rendering/picture-renderer.js';
import { RejectionError } from '../http/rejection.js';
import { chooseFormat } from './rendering/rendering-format.js';
import { SIGNING_KEYS, type SigningKeys } from './signing/signing-keys.js';
import { type PictureKind, type SignedPicture, verifyUrl } from './signing/signed-url.js';

/** What a request for a picture says. */
export interface PictureRequest {
  /** Path and query as they came, without the path of the base URL. */
  readonly target: string;
  readonly accept: string | undefined;
  readonly ifNoneMatch: string | undefined;
  /** Seconds that the mirror may be old; null: there is no bound. */
  readonly maxStaleness: number | null;
}

/** A picture, or `bytes` null when the caller has it already. */
export interface Picture {
  readonly kind: PictureKind;
  readonly bytes: Buffer | null;
  readonly mediaType: string;
  readonly etag: string;
  /** Seconds that are left of the life of the URL. */
  readonly maxAge: number;
  /** What it was read from. */
  readonly read: MirrorRead;
}

/** Hands out pictures to whoever has a signed URL. */
@Injectable()
export class PicturesService {
  constructor(
    private readonly database: Database,
    private readonly renderer: PictureRenderer,
    @Inject(SIGNING_KEYS) private readonly keys: SigningKeys,
    private readonly staleness: Staleness,
  ) {}

  /**
   * The picture that a signed URL stands for.
   * @throws RejectionError for a bad URL, or when there is no picture; ServiceError STALE; ServiceUnavailableError
   */
  async get(request: PictureRequest): Promise<Picture> {
    const now = new Date();
    const { kind, id, size, expires } = this.verify(request.target, now);
    await this.staleness.refuse(request.maxStaleness);
    const before = this.staleness.asOf;
    const { sha256, revision } = await findPictureDigest(this.database, kind, id);
    const read = await this.staleness.describe(revision, before);
    if (sha256 === null) throw noPicture(read);

    const rendering = { sha256, size, format: chooseFormat(request.accept) };
    const etag = etagOf(rendering);
    const bytes = matchesEtag(request.ifNoneMatch, etag) ? null : await this.render(rendering, read);
    const maxAge = Math.max(0, Math.floor(expires - now.getTime() / 1000));
    return { kind, bytes, mediaType: `image/${rendering.format}`, etag, maxAge, read };
  }

  private async render(rendering: Rendering, read: MirrorRead): Promise<Buffer> {
    const bytes = await this.renderer.find(rendering, () =>
      findPictureBytes(this.database, rendering.sha256),
    );
    if (bytes === null) throw noPicture(read);
    return bytes;
  }

  private verify(target: string, now: Date): SignedPicture {
    const verification = verifyUrl(target, this.keys, now);
    switch (verification.outcome) {
      case 'valid':
        return verification;
      case 'malformed':
        throw new RejectionError(400, 'BAD_REQUEST', 'The parameters expires and signature are needed');
      case 'invalid':
        throw new RejectionError(403, 'SIGNATURE_INVALID', 'The signature does not belong to this URL');
      case 'expired':
        throw new RejectionError(403, 'URL_EXPIRED', 'The URL has expired: ask for a new one');
    }
  }
}

/** Whether the person or only the picture is missing is not told apart. */
function noPicture(read: MirrorRead): RejectionError {
  return new RejectionError(404, 'NOT_FOUND', 'There is no such picture', headersOfRead(read));
}
