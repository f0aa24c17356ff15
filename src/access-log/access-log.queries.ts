import type { DataSource } from 'typeorm';
import type { Count } from './access-counts.js';

/** Replicas add to the same rows, and take them in one order: none waits for another that waits for it. */
const ADD = `
  insert into access_log (day, principal, acting_for, field, requests, people)
  select * from unnest($1::date[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::bigint[])
    as added (day, principal, acting_for, field, requests, people)
  order by day, principal, acting_for, field
  on conflict on constraint access_log_pk do update
  set requests = access_log.requests + excluded.requests, people = access_log.people + excluded.people`;

/**
 * Adds counts to those that are there. By the data source, whose connections lead to the primary: counts that are written
 * are no part of what is read.
 */
export async function addCounts(dataSource: DataSource, counts: readonly Count[]): Promise<void> {
  const column = <Value>(value: (count: Count) => Value) => counts.map(value);
  await dataSource.query(ADD, [
    column(({ day }) => day),
    column(({ principal }) => principal),
    column(({ actingFor }) => actingFor),
    column(({ field }) => field),
    column(({ requests }) => requests),
    column(({ people }) => people),
  ]);
}

/** @param since the first day that stays; null: none does */
export async function deleteDays(dataSource: DataSource, since: string | null): Promise<void> {
  await dataSource.query('delete from access_log where $1::date is null or day < $1::date', [since]);
}

/** Which counts are asked for: from one day to another, both included. */
export interface CountFilter {
  readonly from: string;
  readonly to: string;
  /** `service-account:ID`, `client:ID`, or the bare id of either, or of a person that was acted for; null: anybody. */
  readonly principal: string | null;
}

/** Newest days first; within a day, who was shown the most people comes first. */
export async function listCounts(dataSource: DataSource, filter: CountFilter): Promise<Count[]> {
  const rows = await dataSource.query<(Omit<Count, 'requests' | 'people'> & Record<string, string>)[]>(
    `select day::text as day, principal, acting_for as "actingFor", field, requests, people
     from access_log
     where day between $1::date and $2::date
       and ($3::text is null or principal in ($3, 'service-account:' || $3, 'client:' || $3) or acting_for = $3)
     order by day desc, max(people) over (partition by day, principal, acting_for) desc, principal, acting_for, field`,
    [filter.from, filter.to, filter.principal],
  );
  return rows.map((row) => ({ ...row, requests: Number(row['requests']), people: Number(row['people']) }));
}
