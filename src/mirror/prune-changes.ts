import { advance, hasRecovered, type LogClock, PORTION } from '../changes/retention.js';
import { LEAP_HOURS, NOW, type Writer } from '../database/statements/statement.js';

/** Milliseconds by which the stored clock may lag, so that it is not written each time. */
const LAG = 3_600_000;

/** The clock of the change log, and what has expired by it. */
export interface LogState extends LogClock {
  /** The clock of the database. */
  readonly now: Date;
  /** The id of the newest expired change; null: there is none. */
  readonly expired: string | null;
}

/** SQL for the columns of a LogState in `mirror_state s`. $1 is the number of days for which changes are kept. */
export const LOG_STATE = `
  s.changes_clock as at, s.changes_clock_doubted_since as "doubtedSince", ${NOW} as now, (
    select max(past.id) from (
      select id from changes where at < s.changes_clock - make_interval(hours => 24 * $1::integer)
      order by at, id limit ${PORTION}) past) as expired`;

/**
 * Compares the clock of the change log with that of the database. Changes recorded while that clock was wrong by more than a day are
 * moved back to the present.
 * @returns the id of the newest expired change; null: there is none
 */
export async function followClock(writer: Writer, state: LogState, days: number): Promise<string | null> {
  const { now, expired, ...clock } = state;
  const next = advance(clock, now);
  const moved = next.at.getTime() - clock.at.getTime();
  const isDoubtSame = next.doubtedSince?.getTime() === clock.doubtedSince?.getTime();
  if (isDoubtSame && moved >= 0 && moved < LAG) return expired;
  await writer.query('update mirror_state set changes_clock = $1, changes_clock_doubted_since = $2', [
    next.at,
    next.doubtedSince,
  ]);
  if (hasRecovered(clock, now)) await writer.query(PUT_BACK, [clock.at]);
  return (await readLogState(writer, days)).expired;
}

/**
 * Deletes expired changes, at most PORTION of them, in the caller's transaction.
 * @param days number of days for which changes are kept
 */
export async function pruneChanges(writer: Writer, days: number): Promise<void> {
  await deleteExpired(writer, await followClock(writer, await readLogState(writer, days), days));
}

/** @param newest the id of the newest expired change; null: there is none */
export async function deleteExpired(writer: Writer, newest: string | null): Promise<void> {
  if (newest === null) return;
  // Takes the same lock as a process that applies a revision. Two deletions would otherwise wait for each
  // other.
  await writer.query('select from mirror_state for update');
  await writer.query(
    `with gone as (
       delete from changes where id > (select changes_pruned_to from mirror_state) and id <= $1::bigint returning 1)
     update mirror_state set changes_pruned_to = $1::bigint, change_count = change_count - (select count(*) from gone)`,
    [newest],
  );
}

async function readLogState(writer: Writer, days: number): Promise<LogState> {
  const [state]: LogState[] = await writer.query(`select ${LOG_STATE} from mirror_state s`, [days]);
  if (state === undefined) throw new Error('The mirror has no state');
  return state;
}

/**
 * Changes recorded while the clock was doubted are later than all others. They become not later than the
 * present.
 */
const PUT_BACK = `
  with wild as (select $1::timestamptz + interval '${LEAP_HOURS} hours' as since)
  update changes c
  set at = (select greatest(clock_timestamp()::timestamptz(3), max(s.at)) from changes s, wild where s.at <= wild.since)
  from wild where c.at > wild.since`;
