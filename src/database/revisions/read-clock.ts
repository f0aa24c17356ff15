import type { Writer } from '../statements/writer.js';

/**
 * What the clock of the database says. Instants that several processes write and compare are all read from it: the clocks of
 * the processes may differ.
 */
export async function readClock(writer: Writer): Promise<Date> {
  const [row]: { now: Date }[] = await writer.query(
    `select date_trunc('milliseconds', clock_timestamp()) as now`,
  );
  if (row === undefined) throw new Error('The database does not tell the time');
  return row.now;
}
