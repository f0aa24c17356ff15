import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';

/**
 * A prepared statement. Its name is derived from its text, so that each connection parses equal texts once.
 */
export interface Statement {
  readonly name: string;
  readonly text: string;
  /** Whether the last column of every row is the id of the revision that was read: see REVISION. */
  readonly tellsRevision: boolean;
  /**
   * Whether it reads a few rows along an index, independently of the size of the directory. Such a statement
   * may share a connection.
   */
  readonly isShort: boolean;
}

/**
 * SQL for the id of the revision that a statement reads. Each statement sees one revision, and the ids of
 * several statements can be compared.
 */
export const REVISION = '(select revision_uuid from mirror_state)';

/**
 * Limits of the cache: number of statements, and characters of their texts. Clients choose their selections.
 */
const MOST_KNOWN = 2000;
const MOST_CHARACTERS = 8_000_000;

/** Statements by text, so that a repeated text is hashed once. */
const known = new LRUCache<string, Statement>({
  max: MOST_KNOWN,
  maxSize: MOST_CHARACTERS,
  sizeCalculation: (_statement, text) => text.length,
});

/** Returns the prepared statement for an SQL text with `$1`, `$2` … for its values. */
export function statement(text: string, { tellsRevision = false, isShort = false } = {}): Statement {
  let prepared = known.get(text);
  if (prepared === undefined) {
    // PostgreSQL truncates names at 63 bytes.
    prepared = {
      name: createHash('sha256').update(text).digest('base64url').slice(0, 22),
      text,
      tellsRevision,
      isShort,
    };
    known.set(text, prepared);
  }
  return prepared;
}
