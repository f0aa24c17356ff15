import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { destroyConnection, SocketClient, SESSION_SETTINGS } from '../connections/socket-client.js';
import {
  evictLeader,
  findBlockingSessions,
  isLockTimeout,
  markWaiting,
  readLease,
  NotLeadingError,
  renewLease,
  type SeenLease,
  showRules,
  takeLease,
  type Tenure,
  tryLeaderLock,
} from './leader-lease.js';
import { settlesWithin } from '../connections/settles-within.js';

/** Milliseconds between two attempts to become the leader, and between two renewals. */
const INTERVAL = 3000;
/** Milliseconds without a renewal after which a leader is replaced. */
const LEASE_MS = 15_000;
/** Milliseconds between a lost connection and the next attempt to connect. */
const PAUSE = 1000;
/** Milliseconds between two attempts while the sessions of the previous leader are ending. */
const SOON = 200;
const PARTING = 500;
/** Milliseconds that the database may take for one statement. */
const STATEMENT_TIMEOUT_MS = 5000;

/**
 * Milliseconds that a statement waits for a lock on the lease. The server ends the wait: a session that only
 * the driver gives up goes on waiting, and keeps the advisory lock.
 */
const LOCK_TIMEOUT = 1000;

/** Makes the server end the session of a host that disappeared, within about 15 seconds. */
const KEEP_ALIVE =
  'set tcp_keepalives_idle = 5; set tcp_keepalives_interval = 5; set tcp_keepalives_count = 2';

/** A process that can lead, and what it does at events. */
interface Candidate {
  /** The number of the rules of visibility of this process. */
  readonly rules: number;
  readonly onWait: () => void;
  /** Called when the leader did not renew its lease and its sessions were ended. */
  readonly onEvict: () => void;
  /** Called when the database is unavailable, or when this process no longer leads. It retries afterwards. */
  readonly onTrouble: (error: unknown) => void;
  /**
   * Called when another session holds a lock on the lease, so that it cannot be taken or renewed, and when
   * that has ended.
   * @param sessions that hold such locks; null if the lease does not wait for any
   */
  readonly onLeaseLock: (sessions: readonly string[] | null) => void;
  /** Whether the leader waits for a lock of another session, on the lease or on another table. */
  readonly isWaiting: () => boolean;
}

export interface Term {
  readonly tenure: Tenure;
  /** Aborted when the lease is lost, or when the process stops. */
  readonly signal: AbortSignal;
  /** The work calls this when it detects that the lease is lost. */
  readonly stepDown: (error: Error) => void;
}

/**
 * Runs some work in one process at a time, the leader (docs/adr/0033). A stopped process releases the lead with
 * its connection; a hanging one is replaced when its lease expires.
 */
export async function withLeadership(
  url: string,
  work: (term: Term) => Promise<void>,
  signal: AbortSignal,
  candidate: Candidate,
): Promise<void> {
  while (!signal.aborted) {
    await new LeaderSession(url, signal, candidate).run(work);
    await sleep(PAUSE, undefined, { signal }).catch(() => undefined);
  }
}

class LeaderSession {
  private readonly client: SocketClient;
  private readonly lost = new AbortController();
  private readonly either: AbortSignal;
  /** Whether this session is marked as one that waits: see markWaiting. */
  private isMarked = false;

  constructor(
    url: string,
    private readonly signal: AbortSignal,
    private readonly candidate: Candidate,
  ) {
    this.client = new SocketClient({
      connectionString: url,
      keepAlive: true,
      connectionTimeoutMillis: STATEMENT_TIMEOUT_MS,
      query_timeout: STATEMENT_TIMEOUT_MS,
    });
    this.either = AbortSignal.any([signal, this.lost.signal]);
    this.client.on('error', this.lose);
    this.client.on('end', this.lose);
  }

  /** Waits for the leadership and runs the work. Never throws. */
  async run(work: (term: Term) => Promise<void>): Promise<void> {
    try {
      await this.client.connect();
      await this.client.query(
        `${SESSION_SETTINGS}; ${KEEP_ALIVE}; set lock_timeout = ${LOCK_TIMEOUT}; ${showRules(this.candidate.rules)}`,
      );
      const tenure = await this.acquire();
      if (tenure !== null) {
        const renewing = this.renew(tenure);
        await work({ tenure, signal: this.either, stepDown: this.lose });
        this.lost.abort();
        await renewing;
      }
    } catch (error) {
      this.lose(error);
    } finally {
      this.lost.abort();
      this.candidate.onLeaseLock(null);
      await settlesWithin(PARTING, this.client.end());
      destroyConnection(this.client);
    }
  }

  private readonly lose = (error?: unknown): void => {
    if (!this.either.aborted) this.candidate.onTrouble(error);
    this.lost.abort();
  };

  /** @returns null if the signal was aborted first */
  private async acquire(): Promise<Tenure | null> {
    const watch = new LeaseWatch();
    while (!this.either.aborted) {
      if (await tryLeaderLock(this.client)) return this.take();
      this.candidate.onWait();
      const hanging = await watch.findHanging(this.client);
      const isEvicted = hanging !== null && (await evictLeader(this.client, hanging)) > 0;
      if (isEvicted) this.candidate.onEvict();
      await pause(isEvicted ? SOON : INTERVAL, this.either);
    }
    return null;
  }

  private async take(): Promise<Tenure | null> {
    while (!this.either.aborted) {
      const tenure = await this.writeLease(() => takeLease(this.client));
      if (tenure !== null) return tenure;
      await pause(SOON, this.either);
    }
    return null;
  }

  private async renew(tenure: Tenure): Promise<void> {
    for (;;) {
      // Renews until the work has ended: a process that is stopping still leads while its work runs.
      await pause(INTERVAL, this.lost.signal);
      if (this.lost.signal.aborted) return;
      try {
        const isHeld = await this.writeLease(() => renewLease(this.client, tenure));
        if (isHeld === false) this.lose(new NotLeadingError());
      } catch (error) {
        this.lose(error);
      }
    }
  }

  /**
   * Writes the lease, and reports whether this leader waits for a lock.
   * @returns null while another session holds a lock on the lease
   */
  private async writeLease<Result>(write: () => Promise<Result>): Promise<Result | null> {
    let written: Result | null = null;
    try {
      written = await write();
      this.candidate.onLeaseLock(null);
    } catch (error) {
      if (!isLockTimeout(error)) throw error;
      this.candidate.onLeaseLock(await findBlockingSessions(this.client));
    }
    const isWaiting = this.candidate.isWaiting();
    if (isWaiting !== this.isMarked) await markWaiting(this.client, isWaiting);
    this.isMarked = isWaiting;
    return written;
  }
}

async function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  await sleep(milliseconds, undefined, { signal }).catch(() => undefined);
}

/** Detects a leader that does not renew its lease, by renewals that this process observes. */
class LeaseWatch {
  private seen: { readonly lease: SeenLease; readonly at: number } | null = null;

  async findHanging(session: pg.Client): Promise<SeenLease | null> {
    // The time before the query, because this process may be suspended before the answer arrives.
    const asked = performance.now();
    const lease = await readLease(session);
    if (lease === null) return null;
    if (this.seen?.lease.holder !== lease.holder || this.seen.lease.renewals !== lease.renewals) {
      this.seen = { lease, at: performance.now() };
      return null;
    }
    return asked - this.seen.at >= LEASE_MS ? lease : null;
  }
}
