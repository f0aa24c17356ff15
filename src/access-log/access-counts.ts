import type { Repository } from 'typeorm';
import type { Principal } from '../auth/principal.js';
import type { AccessLogEntity } from './access-log.entity.js';

/** Who reads personal data, as the access log names them. */
export interface AuditActor {
  /** `service-account:ID`, `client:ID`, or one of the names below. */
  readonly principal: string;
  /** Id of the user that a token acts for, as its issuer writes it; empty if there is none. */
  readonly actingFor: string;
}

/** The holder of a signed URL of a picture. The URL says no more about them. */
export const SIGNED_URL: AuditActor = { principal: 'signed-url', actingFor: '' };
/** All actors above the limit of rows that wait for the database. */
export const OTHERS: AuditActor = { principal: 'others', actingFor: '' };

/** Characters. PostgreSQL takes 2,704 bytes for a row of an index, and three such texts are in one. */
const MAX_LENGTH = 200;

export function actorOf({ serviceAccountId, clientId, subject }: Principal): AuditActor {
  if (serviceAccountId !== null) {
    return { principal: `service-account:${serviceAccountId}`, actingFor: '' };
  }
  return {
    principal: clientId === null ? 'access-token' : `client:${storable(clientId)}`,
    actingFor: storable(subject ?? ''),
  };
}

/** Issuers write ids as they like. PostgreSQL's text has neither NUL nor unpaired surrogates. */
function storable(id: string): string {
  return id.slice(0, MAX_LENGTH).toWellFormed().replaceAll('\0', '\u{fffd}');
}

/** A row of the access log, or what is added to one. */
export interface AccessCount extends AuditActor {
  /** In UTC, such as 2030-01-15. */
  readonly day: string;
  readonly field: string;
  requests: number;
  users: number;
}

/** Milliseconds. */
export const DAY = 86_400_000;

/** The day of an instant in UTC, such as 2030-01-15. */
export function dayOf(instant: Date): string {
  return instant.toISOString().slice(0, 10);
}

/** The first day that stays. */
export function keptSince(now: Date, days: number): string {
  return dayOf(new Date(now.getTime() - days * DAY));
}

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
