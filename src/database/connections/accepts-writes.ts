/**
 * Whether a database takes writes, as an expression that writes nothing: a setting tells whether it lets anybody, and a sort
 * with little memory takes some of the disk, and gives it back. Where there is no room that fails, by `isFull`.
 */
export const TAKES_WRITES = `(
  with little as materialized (select set_config('work_mem', '64kB', true))
  select count(numbers.each) > 0 and current_setting('transaction_read_only') = 'off'
  from little cross join lateral (select each from generate_series(1, 4000) each order by each desc) numbers)`;

/** SQLSTATE disk_full. */
const DISK_FULL = '53100';

/** Whether a statement has failed for want of room. */
export function isFull(error: unknown): boolean {
  return (error as { code?: unknown } | null)?.code === DISK_FULL;
}
