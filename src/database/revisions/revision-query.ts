import { IS_COMPLETE, statement } from '../statements/statement.js';
import { type ChangedObjects, changedObjectsIn } from './changed-objects.js';
import type { ReportedFreshness } from './freshness.js';
import type { Revision } from './revision.js';

/** Of more revisions than this, the changes are not read one by one. */
const MOST_MISSED = 100;

/**
 * SQL for the changes of each revision after the one with the number $1 and the id $2, in order. Null if this database
 * never had that revision, or if there are too many.
 */
const CHANGES = `(
  case when revision - $1::integer between 0 and ${MOST_MISSED}
    and exists (select from revisions k where k.id = $1::integer and k.uuid = $2::uuid)
  then (
    select coalesce(json_agg(r.changed order by r.id), '[]')
    from revisions r where r.id > $1::integer and r.id <= revision) end)`;

/** The last confirmation in milliseconds since 1970, and the seconds since then by the database. */
const COLUMNS = `revision as number, revision_uuid as id, (extract(epoch from as_of) * 1000)::float8 as "asOf",
  extract(epoch from clock_timestamp() - as_of)::float8 as age, hides, hides or hides_in_log as "hidesInLog",
  ${CHANGES} as changes, cursor_key as "cursorKey"`;

export const READ_REVISION = statement(`select ${COLUMNS} from mirror_state where ${IS_COMPLETE}`);

/** It returns one row even before the first revision. */
export const READ_STATE = `
  select s.*
  from (values (1)) one left join (select ${COLUMNS} from mirror_state) s on ${IS_COMPLETE}`;

/** The state of the mirror, with the changes since a revision: null if they are not known. */
export interface MirrorReading {
  readonly number: number | null;
  readonly id: string | null;
  readonly asOf: number | null;
  readonly age: number | null;
  readonly hides: boolean | null;
  readonly hidesInLog: boolean | null;
  readonly changes: unknown[] | null;
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
  changes: unknown[] | null,
  cursorKey: Buffer | null,
];

const NO_STATE: ReadingRow = [null, null, null, null, null, null, null, null];

export function readingOf([row]: readonly ReadingRow[]): MirrorReading {
  const [number, id, asOf, age, hides, hidesInLog, changes, cursorKey] = row ?? NO_STATE;
  return { number, id, asOf, age, hides, hidesInLog, changes, cursorKey };
}

/** The values of both queries. */
export function valuesFor(latest: Revision | null): unknown[] {
  return [latest?.number ?? null, latest?.id ?? null];
}

/** Null if one of the revisions does not say what it changed. */
export function changesIn({ changes }: MirrorReading): ChangedObjects[] | null {
  const known = changes?.map(changedObjectsIn) ?? [null];
  return known.every((each) => each !== null) ? known : null;
}

export function freshnessIn({ id, asOf, age }: MirrorReading): ReportedFreshness | null {
  return id === null || asOf === null || age === null ? null : { id, asOf, age };
}
