import { foldId } from '../common/identity.js';
import type { Database } from '../database/database.js';
import { NothingReadError } from '../database/statements/database-error.js';
import { IS_COMPLETE, statement } from '../database/statements/statement.js';
import { ifWrittenWith } from '../database/visibility/rules-in-mirror.js';
import type { PictureKind, SignedPicture } from './signing/signed-url.js';

/**
 * Returns one row even if no user has the id. Most requests need only the digest. A user who is hidden from some viewers has
 * pictures only for URLs that were given inside of the audience.
 */
const findDigest = (kind: PictureKind, rules: number) =>
  statement(
    `select u.${kind}, ${ifWrittenWith(rules, 's.revision_uuid')} from mirror_state s
     left join users u on u.id_folded = $1 and (u.visible_to = 0 or $2::boolean)
     where ${IS_COMPLETE}`,
    { returnsRevision: true },
  );

/** Read only to create a rendering that no cache has. */
const BYTES = statement('select bytes from pictures where sha256 = $1');

/** The SHA-256 digest of a user's picture, and the revision that it was read from. */
interface FoundDigest {
  /** Null: the user or the picture does not exist, or the URL is from before the user was hidden. */
  readonly sha256: Buffer | null;
  readonly revision: string;
}

/**
 * No picture is read while the rules of visibility await a reading of the directory, also not for a URL that was given before.
 * @throws ServiceUnavailableError when the digest cannot be read
 */
export async function findPictureDigest(
  database: Database,
  { kind, id, isForAudience }: Pick<SignedPicture, 'kind' | 'id' | 'isForAudience'>,
): Promise<FoundDigest> {
  const values = [foldId(id), isForAudience];
  const find = findDigest(kind, database.rules);
  const [row] = await database.read<[sha256: Buffer | null, revision: string]>(find, values);
  if (row === undefined) throw new NothingReadError();
  const [sha256, revision] = row;
  return { sha256, revision };
}

/** Reads the picture with this digest. Returns null when the mirror has removed it in the meantime. */
export async function findPictureBytes(database: Database, sha256: Buffer): Promise<Buffer | null> {
  const rows = await database.read<[Buffer]>(BYTES, [sha256]);
  return rows[0]?.[0] ?? null;
}
