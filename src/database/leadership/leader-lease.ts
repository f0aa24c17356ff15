import { randomUUID } from 'node:crypto';
import type pg from 'pg';
import type { EntityManager } from 'typeorm';
import { IS_COMPLETE } from '../statements/statement.js';

/** Key of the advisory lock of the leader: the bytes of «sync». Earlier releases know only this lock. */
const LEADER_LOCK = 0x73796e63;
/** Key of the advisory lock that marks each transaction of the leader: the bytes of «appl». */
const APPLY_LOCK = 0x6170706c;
/** Key of the advisory lock that marks a leader that waits for another session: the bytes of «wait». */
const WAIT_LOCK = 0x77616974;
/** First key of the advisory locks that show the rules of visibility of a leader, before their number: the bytes of «rule». */
const RULES_LOCK = 0x72756c65;

const LOCK_NOT_AVAILABLE = '55P03';

export interface Tenure {
  /** Increases with each takeover. A bigint, which the driver returns as a string. */
  readonly token: string;
  /** Random, because two databases may issue the same token after a failover. */
  readonly holder: string;
  /** The backend of the session that holds the advisory lock. */
  readonly sessionPid: number;
}

/** This process is not, or no longer, the leader, and must not write to the mirror. */
export class NotLeadingError extends Error {
  constructor() {
    super('This process does not lead the synchronization');
    this.name = 'NotLeadingError';
  }
}

/** SQL for the sessions that hold an advisory lock. PostgreSQL shows a bigint key in two halves. */
const holdersOf = (key: number) => `
  select pid from pg_locks
  where locktype = 'advisory' and classid = 0 and objid = ${key} and objsubid = 1 and granted
    and database = (select oid from pg_database where datname = current_database())`;

/**
 * SQL condition: whether the leader waits for a lock of another session. It reads no table, because that
 * session may have locked the lease itself.
 */
export const IS_LEADER_WAITING = `exists (${holdersOf(WAIT_LOCK)})`;

/** SQL condition: whether a process leads that has other rules of visibility than those with a number. */
export const leaderHasOtherRules = (number: string) => `exists (
  select from pg_locks
  where locktype = 'advisory' and classid = ${RULES_LOCK} and objid <> ${number}::oid and objsubid = 2 and granted
    and database = (select oid from pg_database where datname = current_database())
    and pid in (${holdersOf(LEADER_LOCK)}))`;

/** SQL that shows every process the rules of a session, before it tries to lead. */
export function showRules(number: number): string {
  return `select pg_advisory_lock_shared(${RULES_LOCK}, ${number})`;
}

/** Sessions other than those of a leader that hold a lock on the lease, and that do more than read it. */
const BLOCKING = `
  select concat_ws(', ', pid, state) as session from pg_stat_activity
  where pid <> pg_backend_pid() and pid not in (${holdersOf(APPLY_LOCK)}) and pid in (
    select pid from pg_locks where granted and relation = 'leader_lease'::regclass and mode <> 'AccessShareLock')
  order by pid`;

const TAKE = `
  insert into leader_lease as lease (token, holder, session_pid, session_started, renewed_at)
  select 1, $1::uuid, pid, backend_start, clock_timestamp() from pg_stat_activity
  where pid = pg_backend_pid() and ${IS_COMPLETE}
  on conflict (only_row) do update set token = lease.token + 1, holder = excluded.holder,
    session_pid = excluded.session_pid, session_started = excluded.session_started, renewals = 0,
    renewed_at = excluded.renewed_at
  returning token, session_pid as "sessionPid"`;

const RENEW = `
  update leader_lease set renewals = renewals + 1, renewed_at = clock_timestamp()
  where token = $1 and holder = $2`;

/** Ends the transactions of a leader whose session has already ended. */
const END_APPLYING = `select pg_terminate_backend(pid) from (${holdersOf(APPLY_LOCK)}) as applying`;

/**
 * Ends the sessions of a leader that does not renew its lease. A single statement decides, so a leader that
 * has renewed in the meantime keeps its sessions, and so does a session of a release that writes no lease.
 */
const EVICT = `
  with lease as (select * from leader_lease where holder = $1 and renewals = $2),
    leader as (
      select held.pid from (${holdersOf(LEADER_LOCK)}) as held
      join lease on lease.session_pid = held.pid
      join pg_stat_activity a on a.pid = held.pid and a.backend_start = lease.session_started),
    applying as (select pid from (${holdersOf(APPLY_LOCK)}) as held where exists (select from lease))
  select pg_terminate_backend(pid) from (select pid from leader union select pid from applying) as hanging`;

/** Marks and fences a transaction of the leader. Returns no row if another process leads. */
const ADMIT = `
  with marked as materialized (select pg_advisory_xact_lock_shared(${APPLY_LOCK}))
  select lease.token from marked cross join leader_lease as lease
  where lease.token = $1 and lease.holder = $2 and $3 in (${holdersOf(LEADER_LOCK)}) and ${IS_COMPLETE}
  for key share of lease`;

/** The lease as a waiting process sees it. It changes with each renewal. */
export interface SeenLease {
  readonly holder: string | null;
  readonly renewals: string;
}

export async function tryLeaderLock(session: pg.Client): Promise<boolean> {
  const { rows } = await session.query<{ held: boolean }>('select pg_try_advisory_lock($1) as held', [
    LEADER_LOCK,
  ]);
  return rows[0]?.held === true;
}

/** Whether a statement has waited for a lock for longer than its session allows. */
export function isLockTimeout(error: unknown): boolean {
  return (error as { code?: unknown } | null)?.code === LOCK_NOT_AVAILABLE;
}

/** @returns the process numbers and states of the sessions whose locks keep the lease from being written */
export async function findBlockingSessions(session: pg.Client): Promise<string[]> {
  const { rows } = await session.query<{ session: string }>(BLOCKING);
  return rows.map((row) => row.session);
}

/** Shows every process whether this leader waits for a lock of another session: see IS_LEADER_WAITING. */
export async function markWaiting(session: pg.Client, isWaiting: boolean): Promise<void> {
  const action = isWaiting ? 'pg_advisory_lock_shared' : 'pg_advisory_unlock_shared';
  await session.query(`select ${action}($1)`, [WAIT_LOCK]);
}

/**
 * Takes over the lease. Null while the last transaction of the previous leader still runs.
 * @throws an error that isLockTimeout recognizes while another session holds a lock on the lease
 */
export async function takeLease(session: pg.Client): Promise<Tenure | null> {
  const holder = randomUUID();
  try {
    const { rows } = await session.query<Omit<Tenure, 'holder'>>(TAKE, [holder]);
    return rows[0] === undefined ? null : { ...rows[0], holder };
  } catch (error) {
    if (!isLockTimeout(error)) throw error;
    // The session of that leader has ended, so its transaction must not commit.
    const { rowCount } = await session.query(END_APPLYING);
    if (rowCount === 0) throw error;
    return null;
  }
}

/**
 * @returns whether the lease is still held
 * @throws an error that isLockTimeout recognizes while another session holds a lock on the lease
 */
export async function renewLease(session: pg.Client, { token, holder }: Tenure): Promise<boolean> {
  const { rowCount } = await session.query(RENEW, [token, holder]);
  return rowCount === 1;
}

/** @returns null if there is no lease, or if another session has locked the whole table */
export async function readLease(session: pg.Client): Promise<SeenLease | null> {
  try {
    const { rows } = await session.query<SeenLease>('select holder, renewals from leader_lease');
    return rows[0] ?? null;
  } catch (error) {
    if (!isLockTimeout(error)) throw error;
    return null;
  }
}

/** @returns number of ended sessions; 0 if the leader has renewed its lease since it was observed */
export async function evictLeader(session: pg.Client, { holder, renewals }: SeenLease): Promise<number> {
  const { rowCount } = await session.query(EVICT, [holder, renewals]);
  return rowCount ?? 0;
}

/** Fences a transaction: no process can take over the lease until it ends. False if this process lost it. */
export async function admitToLease(manager: EntityManager, tenure: Tenure): Promise<boolean> {
  const { token, holder, sessionPid } = tenure;
  const rows: unknown[] = await manager.query(ADMIT, [token, holder, sessionPid]);
  return rows.length > 0;
}
