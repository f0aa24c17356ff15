import type { Repository } from 'typeorm';
import { arraysOf } from '../common/chunks.js';
import type { AccessCount } from './access-counts.js';
import type { AccessLogEntity } from './access-log.entity.js';

export type AccessLogRepository = Repository<AccessLogEntity>;

/** An upsert of TypeORM overwrites, and this one adds. Processes write rows in the same order and so never deadlock. */
const ADD = `
  insert into access_log (day, principal, acting_for, field, requests, users)
  select * from unnest($1::date[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::bigint[])
    as added (day, principal, acting_for, field, requests, users)
  order by day, principal, acting_for, field
  on conflict on constraint access_log_pk do update
  set requests = access_log.requests + excluded.requests, users = access_log.users + excluded.users`;

/** Adds counts to the stored ones. */
export async function addCounts(
  accessLog: AccessLogRepository,
  counts: readonly AccessCount[],
): Promise<void> {
  const columns = arraysOf(counts, 'day', 'principal', 'actingFor', 'field', 'requests', 'users');
  await accessLog.query(ADD, columns);
}

/** By the earlier one of two clocks: one that leaps ahead must not delete what was counted. */
const DELETE_EXPIRED = `
  delete from access_log where day < least((now() at time zone 'UTC')::date, $2::date) - $1::integer`;

/** Deletes days that are older than this. @param today by the clock of the process */
export async function deleteExpiredDays(
  accessLog: AccessLogRepository,
  days: number,
  today: string,
): Promise<void> {
  await accessLog.query(DELETE_EXPIRED, [days, today]);
}

export interface CountFilter {
  /** First and last day. */
  readonly from: string;
  readonly to: string;
  /** `service-account:ID`, `client:ID`, the ID of either alone, or the id of a user that was acted for; null: all. */
  readonly principal: string | null;
}

/** Newest days first. Within a day, actors who read the most users first. */
export async function listCounts(
  accessLog: AccessLogRepository,
  filter: CountFilter,
): Promise<AccessCount[]> {
  const rows = await accessLog.query<(Omit<AccessCount, 'requests' | 'users'> & Record<string, string>)[]>(
    `select day::text as day, principal, acting_for as "actingFor", field, requests, users
     from access_log
     where day between $1::date and $2::date
       and ($3::text is null or principal in ($3, 'service-account:' || $3, 'client:' || $3) or acting_for = $3)
     order by day desc, max(users) over (partition by day, principal, acting_for) desc, principal, acting_for, field`,
    [filter.from, filter.to, filter.principal],
  );
  return rows.map((row) => ({ ...row, requests: Number(row['requests']), users: Number(row['users']) }));
}
