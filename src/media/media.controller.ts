import { All, Controller, Inject, Req, Res, UseGuards } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { AccessLog } from '../access-log/access-log.js';
import { Public } from '../auth/access.js';
import { foldId } from '../common/identity.js';
import { Database } from '../database/database.js';
import { headersOfRead, type MirrorRead, readMaxStaleness, Revisions } from '../database/revisions.js';
import { NothingReadError } from '../database/statements/database-error.js';
import { statement } from '../database/statements/statement.js';
import { ifWrittenWith } from '../database/visibility/rules-in-mirror.js';
import { matchesEtag } from '../http/headers.js';
import { PROBLEM_FORM, ReadOnlyGuard, RejectionError, type RejectionForm } from '../http/rejection.js';
import { chooseFormat, etagOf, PictureRenderer, type Rendering } from './rendering/picture-renderer.js';
import { SIGNING_KEYS, type SigningKeys } from './signing/signing-keys.js';
import { type PictureKind, type SignedPicture, verifyUrl } from './signing/signed-url.js';

/**
 * Returns one row even if no user has the id. Most requests need only the digest. A user who is hidden from some viewers has
 * pictures only for URLs that were given inside of the audience.
 */
const digestStatement = (kind: PictureKind, rules: number) =>
  statement(
    `select u.${kind}, ${ifWrittenWith(rules, 's.revision_uuid')} from mirror_state s
     left join users u on u.id_folded = $1 and (u.visible_to = 0 or $2::boolean)`,
    { returnsRevision: true },
  );

/** Read only to create a rendering that no cache has. */
const BYTES = statement('select bytes from pictures where sha256 = $1');

/** Headers of every response, including errors. Pages of other sites may display a picture and read nothing. */
const PICTURE_HEADERS = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'cross-origin',
} as const;

/**
 * Serves pictures without a token, because the signature grants the permission. The routes are wildcards because ids may
 * exceed the length of a named parameter, and because only the raw path is verified.
 */
@Public()
@Controller()
@UseGuards(ReadOnlyGuard)
export class MediaController {
  constructor(
    private readonly database: Database,
    private readonly revisions: Revisions,
    private readonly renderer: PictureRenderer,
    private readonly accessLog: AccessLog,
    @Inject(SIGNING_KEYS) private readonly keys: SigningKeys,
  ) {}

  /** Sends the picture, only its headers for HEAD, or 304 when the client already has it. */
  @All(['photo/v1/*', 'picture/v1/*'])
  async getPicture(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const { headers, method } = request;
    const now = new Date();
    const signed = verify(request.raw.url ?? '', this.keys.verifyingAt(now), now);
    await this.revisions.refuseStale(readMaxStaleness(headers));
    const before = this.revisions.asOf;
    const [sha256, revision] = await this.findDigest(signed);
    const read = await this.revisions.describe(revision, before);
    if (sha256 === null) throw noPicture(read);

    const rendering = { sha256, size: signed.size, format: chooseFormat(headers.accept) };
    const etag = await etagOf(rendering);
    const bytes = matchesEtag(headers['if-none-match'], etag) ? null : await this.render(rendering, read);
    const vary = reply.getHeader('Vary');
    void reply.headers({
      ...PICTURE_HEADERS,
      ...headersOfRead(read),
      // The headers of CORS may contain it.
      Vary: vary === undefined ? 'Accept' : `${String(vary)}, Accept`,
      ETag: etag,
      'Cache-Control': `private, max-age=${Math.max(0, Math.floor(signed.expires - now.getTime() / 1000))}`,
    });
    if (bytes === null) {
      void reply.code(304).send();
      return;
    }
    // A response without bytes discloses no personal data.
    if (method === 'GET') this.accessLog.note(null, { fields: [`User.${signed.kind}`], users: [1] });
    void reply.type(`image/${rendering.format}`).header('Content-Length', bytes.length);
    void reply.send(method === 'HEAD' ? undefined : bytes);
  }

  private async render(rendering: Rendering, read: MirrorRead): Promise<Buffer> {
    const bytes = await this.renderer.find(rendering, async () => {
      const rows = await this.database.read<[Buffer]>(BYTES, [rendering.sha256]);
      return rows[0]?.[0] ?? null;
    });
    if (bytes === null) throw noPicture(read);
    return bytes;
  }

  /**
   * The SHA-256 digest of a picture, and the revision that it was read from. Null: the user or the picture does not exist, or the
   * URL is from before the user was hidden. No picture is read while the rules of visibility await a reading of the directory.
   * @throws ServiceUnavailableError when the digest cannot be read
   */
  private async findDigest({ kind, id, isForAudience }: SignedPicture): Promise<[Buffer | null, string]> {
    const find = digestStatement(kind, this.database.revisions.rules);
    const [row] = await this.database.read<[Buffer | null, string]>(find, [foldId(id), isForAudience]);
    if (row === undefined) throw new NothingReadError();
    return row;
  }
}

/** @throws RejectionError for an invalid URL */
function verify(target: string, keys: readonly Buffer[], now: Date): SignedPicture {
  const verified = verifyUrl(target, keys, now);
  if (verified.outcome === 'valid') return verified;
  if (verified.outcome === 'malformed')
    throw new RejectionError(400, 'BAD_REQUEST', 'The parameters expires and signature are needed');
  if (verified.outcome === 'invalid')
    throw new RejectionError(403, 'SIGNATURE_INVALID', 'The signature does not belong to this URL');
  throw new RejectionError(403, 'URL_EXPIRED', 'The URL has expired: ask for a new one');
}

/** The error does not disclose whether the user or only the picture is missing. */
function noPicture(read: MirrorRead): RejectionError {
  return new RejectionError(404, 'NOT_FOUND', 'The picture does not exist', headersOfRead(read));
}

/** Rejections below the paths of pictures: problem details with the headers of pictures. */
export const PICTURE_REJECTIONS: RejectionForm = {
  matches: ({ url }) => url.startsWith('/photo/v1/') || url.startsWith('/picture/v1/'),
  write: (rejection, requestId, request) => {
    const problem = PROBLEM_FORM.write(rejection, requestId, request);
    return { ...problem, headers: { ...problem.headers, ...PICTURE_HEADERS } };
  },
};
