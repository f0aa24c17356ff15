import { advance, hasRecovered, LEAP_HOURS, type LogClock } from '../../changes/log-clock.js';
import { PORTION } from '../../changes/retention.js';
import type { Writer } from '../../database/statements/writer.js';

/** The stored clock may lag by so much: it is not worth a write each time. */
const LAG = 3_600_000;

/**
 * The instant of the changes of a revision, in its transaction: what the clock of the database says, but never before an
 * earlier change. What was written while that clock was wrong by more than a day is first put back in front of it.
 */
export async function stampChanges(writer: Writer): Promise<Date> {
  await tick(writer);
  const [row]: { at: Date }[] = await writer.query(
    'select greatest(clock_timestamp()::timestamptz(3), max(at)) as at from changes',
  );
  if (row === undefined) throw new Error('The database does not tell the time');
  return row.at;
}

/**
 * Deletes changes that are past, or some of them where they are many, in the caller's transaction.
 * @param days for which changes are kept
 */
export async function pruneChanges(writer: Writer, days: number): Promise<void> {
  await tick(writer);
  const [row]: { id: string | null }[] = await writer.query(
    `select max(id) as id from (
       select id from changes
       where at < (select changes_clock from mirror_state) - make_interval(hours => 24 * $1::integer)
       order by at, id limit ${PORTION}) past`,
    [days],
  );
  if (row === undefined || row.id === null) return;
  // As whoever applies a revision does: two that delete would wait for each other.
  await writer.query('select from mirror_state for update');
  await writer.query(
    `with gone as (
       delete from changes where id > (select changes_pruned_to from mirror_state) and id <= $1::bigint returning 1)
     update mirror_state set changes_pruned_to = $1::bigint, change_count = change_count - (select count(*) from gone)`,
    [row.id],
  );
}

/** Compares the clock of the log with that of the database. */
async function tick(writer: Writer): Promise<void> {
  const [row]: (LogClock & { now: Date })[] = await writer.query(
    `select changes_clock as at, changes_clock_doubted_since as "doubtedSince", clock_timestamp() as now
     from mirror_state`,
  );
  if (row === undefined) return;
  const { now, ...clock } = row;
  const next = advance(clock, now);
  const moved = next.at.getTime() - clock.at.getTime();
  const isDoubtSame = next.doubtedSince?.getTime() === clock.doubtedSince?.getTime();
  if (isDoubtSame && moved >= 0 && moved < LAG) return;
  await writer.query('update mirror_state set changes_clock = $1, changes_clock_doubted_since = $2', [
    next.at,
    next.doubtedSince,
  ]);
  if (hasRecovered(clock, now)) await writer.query(PUT_BACK, [clock.at]);
}

/** What was written while the clock was doubted is younger than everything else, and older than now. */
const PUT_BACK = `
  with wild as (select $1::timestamptz + interval '${LEAP_HOURS} hours' as since)
  update changes c
  set at = (select greatest(clock_timestamp()::timestamptz(3), max(s.at)) from changes s, wild where s.at <= wild.since)
  from wild where c.at > wild.since`;
