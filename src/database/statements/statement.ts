import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { QueryArrayConfig } from 'pg';

/** A prepared statement: its name is derived from its text, so that equal texts are parsed once a connection. */
export interface Statement {
  readonly name: string;
  readonly text: string;
  /** Whether the last column of every row is the id of the revision that was read: see REVISION. */
  readonly tellsRevision: boolean;
  /** Whether it reads a few rows along an index, whatever is in the directory: it may share a connection. */
  readonly isShort: boolean;
}

/** A statement with its values, as the driver is given it. */
export type NamedQuery = QueryArrayConfig & { readonly name: string };

/** The id of the revision that a statement reads: one statement sees one, and several can be compared by it. */
export const REVISION = '(select revision_uuid from mirror_state)';

/** Statements that are remembered at most, and characters of their texts: clients choose what they select. */
const MOST_KNOWN = 2000;
const MOST_CHARACTERS = 8_000_000;

/** Statements by text: a text that comes again and again is hashed once. */
const known = new LRUCache<string, Statement>({
  max: MOST_KNOWN,
  maxSize: MOST_CHARACTERS,
  sizeCalculation: (_statement, text) => text.length,
});

/** The prepared statement of an SQL text with `$1`, `$2` … for its values. */
export function statement(text: string, { tellsRevision = false, isShort = false } = {}): Statement {
  let prepared = known.get(text);
  if (prepared === undefined) {
    // PostgreSQL cuts names at 63 bytes.
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
