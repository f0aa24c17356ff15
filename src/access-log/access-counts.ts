import type { PersonalDataAccess } from './personal-data.decorator.js';
import type { Principal } from '../auth/principal.js';

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

type Sum = Pick<AccessCount, 'requests' | 'users'>;

/** Counts that are not written yet. At most `maxRows` rows: beyond them everything is counted, but not by whom. */
export class AccessCounts {
  private readonly rows = new Map<string, AccessCount>();

  constructor(private readonly maxRows: number) {}

  get size(): number {
    return this.rows.size;
  }

  /** @param accesses how often there was each access; they are summed by field first, because finding a row costs most */
  add(day: string, actor: AuditActor, accesses: ReadonlyMap<PersonalDataAccess, number>): void {
    const sums = new Map<string, Sum>();
    for (const [{ fields, users }, times] of accesses) {
      for (const [index, field] of fields.entries()) addTo(sums, field, times, users[index] ?? 0);
    }
    for (const [field, sum] of sums) this.addCount({ day, ...actor, field, ...sum });
  }

  addCount(count: AccessCount): void {
    const key = keyOf(count);
    const row = this.rows.get(key);
    if (row !== undefined) {
      row.requests += count.requests;
      row.users += count.users;
    } else if (this.rows.size < this.maxRows || count.principal === OTHERS.principal) {
      this.rows.set(key, count);
    } else {
      this.addCount({ ...count, ...OTHERS });
    }
  }

  /** Removes and returns the oldest rows. */
  take(max: number): AccessCount[] {
    const taken: AccessCount[] = [];
    for (const [key, row] of this.rows) {
      if (taken.length === max) break;
      taken.push(row);
      this.rows.delete(key);
    }
    return taken;
  }
}

function addTo(sums: Map<string, Sum>, field: string, times: number, users: number): void {
  if (users === 0) return;
  const sum = sums.get(field) ?? { requests: 0, users: 0 };
  sum.requests += times;
  sum.users += times * users;
  sums.set(field, sum);
}

/** JSON, because ids may contain any separator. */
function keyOf({ day, principal, actingFor, field }: AccessCount): string {
  return JSON.stringify([day, principal, actingFor, field]);
}

const DAY = 86_400_000;

/** The day of an instant in UTC, such as 2030-01-15. */
export function dayOf(instant: Date): string {
  return instant.toISOString().slice(0, 10);
}

/** The first day that stays. */
export function keptSince(now: Date, days: number): string {
  return dayOf(new Date(now.getTime() - days * DAY));
}
