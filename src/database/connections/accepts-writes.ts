/**
 * SQL expression: whether the database accepts writes. It writes nothing. It checks the setting
 * `transaction_read_only`, and it sorts with little memory, which allocates disk space temporarily. If the
 * disk is full, the sort fails and `isFull` recognizes the error.
 */
export const TAKES_WRITES = `(
  with little as materialized (select set_config('work_mem', '64kB', true))
  select count(numbers.each) > 0 and current_setting('transaction_read_only') = 'off'
  from little cross join lateral (select each from generate_series(1, 4000) each order by each desc) numbers)`;

/** SQLSTATE disk_full. */
const DISK_FULL = '53100';

/** Whether a statement failed because the disk is full. */
export function isFull(error: unknown): boolean {
  return (error as { code?: unknown } | null)?.code === DISK_FULL;
}
