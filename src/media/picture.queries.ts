import { foldId } from '../common/fold.js';
import type { Database } from '../database/database.js';
import { NothingReadError } from '../database/revisions/no-revision.error.js';
import { type Statement, statement } from '../database/statements/statement.js';
import type { PictureKind } from './signing/signed-url.js';

/** By the unique index on the folded id: one row, also where nobody has it. Its digest is enough to answer most requests. */
const findDigest = (kind: PictureKind) =>
  statement(`select u.${kind}, s.revision_uuid from mirror_state s left join users u on u.id_folded = $1`, {
    tellsRevision: true,
    isShort: true,
  });

const DIGEST: Record<PictureKind, Statement> = {
  photo: findDigest('photo'),
  picture: findDigest('picture'),
};

/** Only read to make a rendering that is in nobody's cache. */
const BYTES = statement('select bytes from pictures where sha256 = $1');

/** The SHA-256 digest of a person's picture, and the revision that it was read from. */
export interface FoundDigest {
  /** Null: there is no such person or picture. */
  readonly sha256: Buffer | null;
  /** The id. */
  readonly revision: string;
}

/** @throws ServiceUnavailableError when that cannot be told */
export async function findPictureDigest(
  database: Database,
  kind: PictureKind,
  id: string,
): Promise<FoundDigest> {
  const [row] = await database.read<[sha256: Buffer | null, revision: string]>(DIGEST[kind], [foldId(id)]);
  if (row === undefined) throw new NothingReadError();
  const [sha256, revision] = row;
  return { sha256, revision };
}

/** The picture with this digest; null when the mirror has removed it meanwhile. */
export async function findPictureBytes(database: Database, sha256: Buffer): Promise<Buffer | null> {
  const rows = await database.read<[Buffer]>(BYTES, [sha256]);
  return rows[0]?.[0] ?? null;
}
