import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { SESSION_SETTINGS, destroyConnection, SocketClient } from './socket-client.js';
import { settlesWithin } from './settles-within.js';

/** Milliseconds that an answer may take before the connection is suspected to hang. */
const PATIENCE = 500;
/**
 * Milliseconds that a server may take to accept a connection before it is considered hanging: after a
 * timeout, and otherwise.
 */
const DOUBT = 500;
const TRUST = 1000;
/**
 * Milliseconds after which connecting starts again. Connecting takes many round trips when the server is far
 * away or uses TLS.
 */
const CONNECTING = 2000;
/** Milliseconds between a refused connection and the next attempt. */
const PAUSE = 1000;

export interface PulseQuestion {
  readonly url: string;
  /** SQL that is sent first on every connection; null for none. */
  readonly greeting: string | null;
  /** The query that is sent repeatedly. */
  readonly text: string;
  /** Milliseconds between an answer and the next query. */
  readonly interval: number;
}

export interface PulseListener<Row extends object> {
  /** Called before the query is sent. */
  readonly onQuestion?: () => void;
  readonly onAnswer: (row: Row | undefined) => void;
  /** Called with the payload of a notification from the server. */
  readonly onNotification?: (payload: string | undefined) => void;
  /** Called when the server refuses or has ended the connection. */
  readonly onLost: (error: unknown) => void;
  /** Called when an answer is overdue. Possibly only this connection is cut. */
  readonly onDoubt: () => void;
  /**
   * Called when the server neither accepts nor refuses a new connection: other queries would wait in vain.
   */
  readonly onHang?: () => void;
  /**
   * Bytes that the server has sent to this process on other connections. While they grow, the server works
   * and only lacks processor time for a new connection, so `onHang` is not called.
   */
  readonly receivedBytes?: () => number;
}

/** The server has not answered within the time limit. */
class SilenceError extends Error {
  constructor() {
    super('it does not answer');
    this.name = 'SilenceError';
  }
}

/**
 * Checks repeatedly, on a connection of its own, whether a server is alive. A server that hangs refuses
 * nothing: only missing answers reveal it. A slow statement on another connection does not count as hanging.
 */
export class Pulse<Row extends object> {
  private isDoubted = false;
  /** The next query does not wait for the interval. */
  private isHurried = false;
  private resting = new AbortController();

  constructor(
    private readonly question: PulseQuestion,
    private readonly listener: PulseListener<Row>,
  ) {}

  /** Runs until the signal is aborted. Never throws. */
  async feel(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const client = new SocketClient({ connectionString: this.question.url, keepAlive: true });
      try {
        await this.feelOn(client, signal);
        await end(client);
      } catch (failure) {
        this.tell(failure);
        await end(client, failure);
        // After a missing answer the time limit has already passed, so no pause follows.
        if (!this.isDoubted) await sleep(PAUSE, undefined, { signal }).catch(() => undefined);
      }
    }
  }

  /** Sends the query at once. If an answer is pending, sends the query once more after it. */
  askNow(): void {
    this.isHurried = true;
    this.resting.abort();
  }

  private tell(failure: unknown): void {
    this.isDoubted = failure instanceof SilenceError;
    if (this.isDoubted) this.listener.onDoubt();
    else this.listener.onLost(failure);
  }

  /**
   * Runs on one connection until the signal is aborted.
   * @throws the error of the connection when it fails
   */
  private async feelOn(client: pg.Client, signal: AbortSignal): Promise<void> {
    const { greeting, text, interval } = this.question;
    const lost = new AbortController();
    client.on('error', () => {
      lost.abort();
    });
    client.on('notification', ({ payload }) => {
      this.listener.onNotification?.(payload);
    });
    const either = AbortSignal.any([signal, lost.signal]);
    await this.connect(client);
    await say(client, greeting === null ? SESSION_SETTINGS : `${SESSION_SETTINGS}; ${greeting}`);
    while (!signal.aborted) {
      this.isHurried = false;
      this.listener.onQuestion?.();
      this.listener.onAnswer(await say<Row>(client, text));
      this.isDoubted = false;
      await this.rest(interval, either);
    }
  }

  private async rest(interval: number, signal: AbortSignal): Promise<void> {
    if (this.isHurried) return;
    this.resting = new AbortController();
    const either = AbortSignal.any([signal, this.resting.signal]);
    await sleep(interval, undefined, { signal: either }).catch(() => undefined);
  }

  private async connect(client: pg.Client): Promise<void> {
    const connecting = client.connect();
    const patience = this.isDoubted ? DOUBT : TRUST;
    const before = this.listener.receivedBytes?.();
    if (!(await settlesWithin(patience, connecting))) {
      if (this.listener.receivedBytes?.() === before) this.listener.onHang?.();
      if (!(await settlesWithin(CONNECTING - patience, connecting))) throw new SilenceError();
    }
    await connecting;
  }
}

async function say<Row extends object>(client: pg.Client, text: string): Promise<Row | undefined> {
  const answer = client.query<Row>(text);
  if (!(await settlesWithin(PATIENCE, answer))) throw new SilenceError();
  // Several statements give one result each, although the types of the driver declare a single one.
  const results = [await answer].flat() as pg.QueryResult<Row>[];
  return results.at(-1)?.rows[0];
}

/** A server that does not answer is not sent a termination message. */
async function end(client: pg.Client, failure: unknown = null): Promise<void> {
  if (!(failure instanceof SilenceError)) await settlesWithin(PATIENCE, client.end());
  destroyConnection(client);
}
