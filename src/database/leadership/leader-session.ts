import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { destroyConnection, SocketClient } from '../connections/socket-client.js';
import {
  evictLeader,
  lookAtLease,
  NotLeadingError,
  renewLease,
  type SeenLease,
  takeLease,
  type Tenure,
  tryLeaderLock,
} from './leader-lease.js';
import { SESSION_SETTINGS } from '../connections/session-settings.js';
import { settlesWithin } from '../connections/settles-within.js';

/** Milliseconds between two attempts to become the leader, and between two renewals. */
const INTERVAL = 3000;
/** Milliseconds without a renewal after which a leader is replaced. */
export const LEASE = 15_000;
/** Milliseconds after which a connection that was lost is opened again. */
const PAUSE = 1000;
/** Milliseconds between two attempts while the sessions of the leader before are being ended. */
const SOON = 200;
/** Milliseconds that closing the session may take. */
const PARTING = 500;
/** Milliseconds that the database may take for one statement. */
const PATIENCE = 5000;

/** The server ends the session of a host that vanishes without a word within about 15 seconds. */
const KEEP_ALIVE =
  'set tcp_keepalives_idle = 5; set tcp_keepalives_interval = 5; set tcp_keepalives_count = 2';

export interface LeaderEvents {
  /** Another process leads. */
  readonly onWait: () => void;
  /** The leader did not renew its lease, and its sessions were ended. */
  readonly onEvict: () => void;
  /** The database is away, or this process no longer leads; it tries again. */
  readonly onTrouble: (error: unknown) => void;
  /** Seconds for which a transaction of this process has been waiting for a lock; null: none is. */
  readonly waitingSeconds: () => number | null;
}

/** What the leader is given for its term. */
export interface Term {
  readonly tenure: Tenure;
  /** Aborted when the lease is lost, or the process ends. */
  readonly signal: AbortSignal;
  /** To be called when the lease turns out to be lost. */
  readonly stepDown: (error: Error) => void;
}

/**
 * Does some work in one process at a time: in the one that leads (docs/adr/0033). A process that ends gives the lead back
 * with its connection; one that hangs is replaced when its lease is over.
 * @param url of the database
 */
export async function withLeadership(
  url: string,
  work: (term: Term) => Promise<void>,
  signal: AbortSignal,
  events: LeaderEvents,
): Promise<void> {
  while (!signal.aborted) {
    await new LeaderSession(url, signal, events).run(work);
    await sleep(PAUSE, undefined, { signal }).catch(() => undefined);
  }
}

/** One connection to the database, for as long as it lasts. */
class LeaderSession {
  private readonly client: SocketClient;
  private readonly lost = new AbortController();
  private readonly either: AbortSignal;

  constructor(
    url: string,
    private readonly signal: AbortSignal,
    private readonly events: LeaderEvents,
  ) {
    this.client = new SocketClient({
      connectionString: url,
      keepAlive: true,
      connectionTimeoutMillis: PATIENCE,
      query_timeout: PATIENCE,
    });
    this.either = AbortSignal.any([signal, this.lost.signal]);
    this.client.on('error', this.lose);
    this.client.on('end', this.lose);
  }

  /** Waits for the lead, does the work, and never throws. */
  async run(work: (term: Term) => Promise<void>): Promise<void> {
    try {
      await this.client.connect();
      await this.client.query(`${SESSION_SETTINGS}; ${KEEP_ALIVE}`);
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
      await settlesWithin(PARTING, this.client.end());
      destroyConnection(this.client);
    }
  }

  private readonly lose = (error?: unknown): void => {
    if (!this.either.aborted) this.events.onTrouble(error);
    this.lost.abort();
  };

  /** @returns null when the signal was first */
  private async acquire(): Promise<Tenure | null> {
    const watch = new LeaseWatch();
    while (!this.either.aborted) {
      if (await tryLeaderLock(this.client)) return this.take();
      this.events.onWait();
      const hanging = await watch.findHanging(this.client);
      const isEvicted = hanging !== null && (await evictLeader(this.client, hanging)) > 0;
      if (isEvicted) this.events.onEvict();
      await pause(isEvicted ? SOON : INTERVAL, this.either);
    }
    return null;
  }

  private async take(): Promise<Tenure | null> {
    while (!this.either.aborted) {
      const tenure = await takeLease(this.client);
      if (tenure !== null) return tenure;
      await pause(SOON, this.either);
    }
    return null;
  }

  private async renew(tenure: Tenure): Promise<void> {
    for (;;) {
      // Until the work has ended: a process that is told to end still leads while it does.
      await pause(INTERVAL, this.lost.signal);
      if (this.lost.signal.aborted) return;
      try {
        if (!(await renewLease(this.client, tenure, this.events.waitingSeconds())))
          this.lose(new NotLeadingError());
      } catch (error) {
        this.lose(error);
      }
    }
  }
}

async function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  await sleep(milliseconds, undefined, { signal }).catch(() => undefined);
}

/**
 * Finds a leader that does not renew its lease. Only the renewals that this process sees count, on its monotonic clock: the
 * time of day of neither machine matters.
 */
class LeaseWatch {
  private seen: { readonly lease: SeenLease; readonly at: number } | null = null;

  async findHanging(session: pg.Client): Promise<SeenLease | null> {
    // Before the question: this process may itself be stopped before the answer.
    const asked = performance.now();
    const lease = await lookAtLease(session);
    if (lease === null) return null;
    if (this.seen?.lease.holder !== lease.holder || this.seen.lease.renewals !== lease.renewals) {
      this.seen = { lease, at: performance.now() };
      return null;
    }
    return asked - this.seen.at >= LEASE ? lease : null;
  }
}
