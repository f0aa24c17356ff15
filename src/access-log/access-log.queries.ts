import type { Repository } from 'typeorm';
import type { AccessCount } from './access-counts.js';
import type { AccessLogEntity } from './access-log.entity.js';

interface CountFilter {
  /** First and last day. */
  readonly from: string;
  readonly to: string;
  /** `service-account:ID`, `client:ID`, the ID of either alone, or the id of a user that was acted for; null: all. */
  readonly principal: string | null;
}

/** Newest days first. Within a day, actors who read the most users first. */
export async function listCounts(
  accessLog: Repository<AccessLogEntity>,
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
