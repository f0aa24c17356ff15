import { advance, hasRecovered, type LogClock, PORTION } from '../changes/retention.js';
import { LEAP_HOURS, NOW, type Writer } from '../database/statements/statement.js';

/** Milliseconds by which the stored clock may lag, so that it is not written each time. */
const LAG = 3_600_000;

/** The clock of the change log, and that of the database. */
interface LogState extends LogClock {
  readonly now: Date;
}

/**
 * Deletes expired changes, at most PORTION of them, in the caller's transaction.
 * @param days number of days for which changes are kept
 */
export async function pruneChanges(writer: Writer, days: number): Promise<void> {
  await followClock(writer);
  const [row] = await writer.query<{ expired: string | null }[]>(
    `select max(past.id) as expired from (
       select id from changes
       where at < (select changes_clock from mirror_state) - make_interval(hours => 24 * $1::integer)
       order by at, id limit ${PORTION}) past`,
    [days],
  );
  if (row?.expired == null) return;
  // Takes the same lock as a process that applies a revision. Two deletions would otherwise wait for each
  // other.
  await writer.query('select from mirror_state for update');
  await writer.query(
    `with gone as (
       delete from changes where id > (select changes_pruned_to from mirror_state) and id <= $1::bigint returning 1)
     update mirror_state set changes_pruned_to = $1::bigint, change_count = change_count - (select count(*) from gone)`,
    [row.expired],
  );
}

/**
 * Compares the clock of the change log with that of the database. Changes recorded while that clock was wrong by more than a day are
 * moved back to the present.
 */
async function followClock(writer: Writer): Promise<void> {
  const [state] = await writer.query<LogState[]>(
    `select changes_clock as at, changes_clock_doubted_since as "doubtedSince", ${NOW} as now from mirror_state`,
  );
  if (state === undefined) throw new Error('The mirror has no state');
  const next = advance(state, state.now);
  const moved = next.at.getTime() - state.at.getTime();
  const isDoubtSame = next.doubtedSince?.getTime() === state.doubtedSince?.getTime();
  if (isDoubtSame && moved >= 0 && moved < LAG) return;
  await writer.query('update mirror_state set changes_clock = $1, changes_clock_doubted_since = $2', [
    next.at,
    next.doubtedSince,
  ]);
  if (hasRecovered(state, state.now)) await writer.query(PUT_BACK, [state.at]);
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
