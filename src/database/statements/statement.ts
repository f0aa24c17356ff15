import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import diagnosticsChannel from 'node:diagnostics_channel';
import type { KeySeal } from '../../common/cursor.js';
import { READS_VIEWER } from '../visibility/conditions.js';

/** A prepared statement. Its name is the hash of its text, so that a connection parses each text once. */
export interface Statement {
  readonly name: string;
  readonly text: string;
  /** Whether the last column of every row is the id of the revision that was read: see REVISION. */
  readonly returnsRevision: boolean;
  /** Whether it reads the log of changes. */
  readonly readsLog: boolean;
  /** Whether it has a condition on the viewer, such as the audience of a field, and needs the relation `viewer`. */
  readonly readsViewer: boolean;
}

/** The id of the revision of some rows; null if the statement does not return it or there is none yet. */
export function revisionOf(
  { returnsRevision }: Statement,
  [row]: readonly (readonly unknown[])[],
): string | null {
  return returnsRevision && row !== undefined ? (row[row.length - 1] as string | null) : null;
}

/** SQL for the id of the revision that a statement sees. */
export const REVISION = '(select revision_uuid from mirror_state)';

const known = new LRUCache<string, Statement>({
  maxSize: 8_000_000,
  sizeCalculation: (_statement, text) => text.length,
});

/** Returns the prepared statement for an SQL text with `$1`, `$2` … for its values. */
export function statement(text: string, { returnsRevision = false } = {}): Statement {
  let prepared = known.get(text);
  if (prepared === undefined) {
    prepared = {
      // PostgreSQL truncates names at 63 bytes.
      name: createHash('sha256').update(text).digest('base64url').slice(0, 22),
      text,
      returnsRevision,
      readsLog: /\b(?:from|join) changes\b/.test(text),
      readsViewer: text.includes(READS_VIEWER),
    };
    known.set(text, prepared);
  }
  return prepared;
}

/** Publishes every statement of the read path, for traces and tests. */
export const statementChannel = diagnosticsChannel.tracingChannel<unknown, SentStatement>(
  'directory:statement',
);

export interface SentStatement extends Pick<Statement, 'name' | 'text'> {
  readonly values: readonly unknown[];
  /** Of a statement that has failed. */
  readonly error?: unknown;
}

/**
 * Reads the mirror for a viewer, either its committed state or the state inside of one preview. The database itself is none, so
 * that nothing can read users, groups or memberships without a viewer.
 */
export interface Reader {
  /** Rows are arrays, which are cheaper than objects (docs/adr/0004). @throws ServiceUnavailableError; ServiceError TIMEOUT */
  read<Row extends unknown[]>(statement: Statement, values?: readonly unknown[]): Promise<Row[]>;
  /** Whether a statement was run for the viewer, so that other viewers may get other rows. */
  readonly isPersonal: boolean;
  /** Seals the keys of rows in cursors. */
  readonly seal: KeySeal;
}

/** Writes rows within a transaction that the caller ends. TypeORM's EntityManager implements it too. */
export interface Writer {
  /** Returns the rows of a select or an insert as objects. The result of other statements is undefined. */
  query<Rows extends object[]>(text: string, values?: unknown[]): Promise<Rows>;
}

export class Values {
  private readonly collected: unknown[] = [];

  /** Adds a value and returns its placeholder: `$1`, `$2` … */
  add(value: unknown): string {
    this.collected.push(value);
    return `$${this.collected.length}`;
  }

  get all(): readonly unknown[] {
    return this.collected;
  }
}

/** SQL for the time of the database. */
export const NOW = `date_trunc('milliseconds', clock_timestamp())`;

/** The time of the database, by which all processes compare instants: their own clocks may differ. */
export async function readClock(writer: Writer): Promise<Date> {
  const [row]: { now: Date }[] = await writer.query(`select ${NOW} as now`);
  if (row === undefined) throw new Error('The database did not return its time');
  return row.now;
}
