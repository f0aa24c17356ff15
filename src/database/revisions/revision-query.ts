import { IS_COMPLETE, statement } from '../statements/statement.js';
import type { ReportedFreshness } from './freshness.js';

/** The last confirmation in milliseconds since 1970, and the seconds since then by the database. */
const COLUMNS = `revision as number, revision_uuid as id, (extract(epoch from as_of) * 1000)::float8 as "asOf",
  extract(epoch from clock_timestamp() - as_of)::float8 as age, hides, hides or hides_in_log as "hidesInLog",
  cursor_key as "cursorKey"`;

export const READ_REVISION = statement(`select ${COLUMNS} from mirror_state where ${IS_COMPLETE}`);

/** It returns one row even before the first revision. */
export const READ_STATE = `
  select s.*
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
