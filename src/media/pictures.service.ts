import { Inject, Injectable } from '@nestjs/common';
import { Database } from '../database/database.js';
import { type MirrorRead, Revisions } from '../database/revisions.js';
import { headersOfRead } from '../database/staleness.js';
import { findPictureBytes, findPictureDigest } from './picture.queries.js';
import { etagOf, PictureRenderer, type Rendering } from './rendering/picture-renderer.js';
import { matchesEtag } from '../http/entity-tags.js';
import { RejectionError } from '../http/rejection.js';
import { chooseFormat } from './rendering/rendering-format.js';
import { SIGNING_KEYS, type SigningKeys } from './signing/signing-keys.js';
import { type PictureKind, type SignedPicture, verifyUrl } from './signing/signed-url.js';

interface PictureRequest {
  /** Unmodified path and query, without the path of the base URL. */
  readonly target: string;
  readonly accept: string | undefined;
  readonly ifNoneMatch: string | undefined;
  /** Maximum accepted age of the mirror in seconds. Null: there is no bound. */
  readonly maxStaleness: number | null;
}

/** A picture. `bytes` is null when the client already has it. */
export interface Picture {
  readonly kind: PictureKind;
  readonly bytes: Buffer | null;
  readonly mediaType: string;
  readonly etag: string;
  /** Remaining lifetime of the URL in seconds. */
  readonly maxAge: number;
  /** The revision and age of the mirror that the picture was read from. */
  readonly read: MirrorRead;
}

@Injectable()
export class PicturesService {
  constructor(
    private readonly database: Database,
    private readonly renderer: PictureRenderer,
    @Inject(SIGNING_KEYS) private readonly keys: SigningKeys,
    private readonly revisions: Revisions,
  ) {}

  /** @throws RejectionError for an invalid URL or a missing picture; ServiceError STALE; ServiceUnavailableError */
  async get(request: PictureRequest): Promise<Picture> {
    const now = new Date();
    const signed = this.verify(request.target, now);
    const { kind, size, expires } = signed;
    await this.revisions.refuseStale(request.maxStaleness);
    const before = this.revisions.asOf;
    const { sha256, revision } = await findPictureDigest(this.database, signed);
    const read = await this.revisions.describe(revision, before);
    if (sha256 === null) throw noPicture(read);

    const rendering = { sha256, size, format: chooseFormat(request.accept) };
    const etag = await etagOf(rendering);
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
    const verification = verifyUrl(target, this.keys.verifyingAt(now), now);
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

/** The error does not disclose whether the user or only the picture is missing. */
function noPicture(read: MirrorRead): RejectionError {
  return new RejectionError(404, 'NOT_FOUND', 'The picture does not exist', headersOfRead(read));
}
