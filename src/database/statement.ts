import { createHash } from 'node:crypto';
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

/** Statements by text: a text is hashed once, however often it is built. Bounded by the shapes we can build. */
const known = new Map<string, Statement>();

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
