import type { HeartbeatQuery } from '../connections/heartbeat.js';
import { IS_COMPLETE, statement } from '../statements/statement.js';
import { REVISION_CHANNEL } from './announcement.js';
import type { ReportedFreshness } from './freshness.js';

const FORBIDS_FILES = `pg_size_bytes(current_setting('temp_file_limit')) between 0 and 1000000`;

/**
 * SQL expression: whether the database accepts writes. It sorts with little memory, which allocates disk space
 * for a moment. If the disk is full, the sort fails. A session that may write no files sorts a single row.
 */
export const TAKES_WRITES = `(
  with little as materialized (select set_config('work_mem', '64kB', true))
  select count(numbers.each) > 0 and current_setting('transaction_read_only') = 'off'
  from little cross join lateral (
    select each from generate_series(1, case when ${FORBIDS_FILES} then 1 else 4000 end) each
    order by each desc) numbers)`;

/** The last confirmation in milliseconds since 1970, and the seconds since then by the database. */
const COLUMNS = `revision as number, revision_uuid as id, (extract(epoch from as_of) * 1000)::float8 as "asOf",
  extract(epoch from clock_timestamp() - as_of)::float8 as age, hides, hides or hides_in_log as "hidesInLog",
  cursor_key as "cursorKey"`;

export const READ_REVISION = statement(`select ${COLUMNS} from mirror_state where ${IS_COMPLETE}`);

/** It returns one row even before the first revision. */
const HEARTBEAT_TEXT = `
  select s.*, ${TAKES_WRITES} as "takesWrites"
  from (values (1)) one left join (select ${COLUMNS} from mirror_state) s on ${IS_COMPLETE}`;

/** The state of the mirror; null if it has no revision. */
export interface MirrorReading {
  readonly number: number | null;
  readonly id: string | null;
  readonly asOf: number | null;
  readonly age: number | null;
  readonly hides: boolean | null;
  readonly hidesInLog: boolean | null;
  /** The key of cursors, which a restore may replace. */
  readonly cursorKey: Buffer | null;
}

export type ReadingRow = [
  number: number | null,
  id: string | null,
  asOf: number | null,
  age: number | null,
  hides: boolean | null,
  hidesInLog: boolean | null,
  cursorKey: Buffer | null,
];

const NO_STATE: ReadingRow = [null, null, null, null, null, null, null];

export function readingOf([row]: readonly ReadingRow[]): MirrorReading {
  const [number, id, asOf, age, hides, hidesInLog, cursorKey] = row ?? NO_STATE;
  return { number, id, asOf, age, hides, hidesInLog, cursorKey };
}

export function freshnessIn({ id, asOf, age }: MirrorReading): ReportedFreshness | null {
  return id === null || asOf === null || age === null ? null : { id, asOf, age };
}

/** Milliseconds between two queries without a notification: a pooler in between may drop notifications. */
const INTERVAL = 1000;

/** The query of the heartbeat of the primary, on a connection that listens for announcements. */
export function heartbeatQuery(url: string): HeartbeatQuery {
  return {
    url,
    firstSql: `listen ${REVISION_CHANNEL}`,
    text: HEARTBEAT_TEXT,
    interval: INTERVAL,
  };
}
