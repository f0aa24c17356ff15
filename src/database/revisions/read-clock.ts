import type { Writer } from '../statements/writer.js';

/**
 * Returns the time of the database. All instants that several processes write and compare come from this
 * clock, because the clocks of the processes may differ.
 */
export async function readClock(writer: Writer): Promise<Date> {
  const [row]: { now: Date }[] = await writer.query(
    `select date_trunc('milliseconds', clock_timestamp()) as now`,
  );
  if (row === undefined) throw new Error('The database does not tell the time');
  return row.now;
}
