import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { SESSION_SETTINGS } from './session-settings.js';
import { destroyConnection, SocketClient } from './socket-client.js';
import { settlesWithin } from './settles-within.js';

/** Milliseconds that an answer may take before the connection is doubted. */
const PATIENCE = 500;
/** Milliseconds that a server may take to accept a connection, before it is known to hang: a doubted one, and any. */
const DOUBT = 500;
const TRUST = 1000;
/** Milliseconds after which it is tried anew: from far away, and with TLS, a connection is many turns. */
const CONNECTING = 2000;
/** Milliseconds after which a server that refused is tried again. */
const PAUSE = 1000;

export interface PulseQuestion {
  readonly url: string;
  /** Said first on every connection; null: nothing. */
  readonly greeting: string | null;
  /** What is asked again and again. */
  readonly text: string;
  /** Milliseconds between an answer and the next question. */
  readonly interval: number;
}

export interface PulseListener<Row extends object> {
  /** The question is about to be sent. */
  readonly onQuestion?: () => void;
  readonly onAnswer: (row: Row | undefined) => void;
  /** What the server tells by itself: the payload of a notification. */
  readonly onNotification?: (payload: string | undefined) => void;
  /** It refuses, or has ended the connection. */
  readonly onLost: (error: unknown) => void;
  /** It owes an answer: perhaps only this connection is cut. */
  readonly onDoubt: () => void;
  /** It takes no new connection, and refuses none: whatever waits for it waits in vain. */
  readonly onHang?: () => void;
  /**
   * Bytes that the server has sent to this process on other connections. While they grow, the server works: it only has no
   * processor for a new connection, and `onHang` is not called.
   */
  readonly receivedBytes?: () => number;
}

/** Nothing was said for so long that nothing more is expected. */
class SilenceError extends Error {
  constructor() {
    super('it does not answer');
    this.name = 'SilenceError';
  }
}

/**
 * Whether a server is alive: asked again and again, on a connection of its own. A server that hangs refuses nothing, and
 * is known by its silence only; a statement that takes its time is none.
 */
export class Pulse<Row extends object> {
  private isDoubted = false;
  /** The next question does not wait for the interval. */
  private isHurried = false;
  private resting = new AbortController();

  constructor(
    private readonly question: PulseQuestion,
    private readonly listener: PulseListener<Row>,
  ) {}

  /** Goes on until it is told to end. Never throws. */
  async feel(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const client = new SocketClient({ connectionString: this.question.url, keepAlive: true });
      try {
        await this.feelOn(client, signal);
        await end(client);
      } catch (failure) {
        this.tell(failure);
        await end(client, failure);
        // Who does not answer has had its time.
        if (!this.isDoubted) await sleep(PAUSE, undefined, { signal }).catch(() => undefined);
      }
    }
  }

  /** Sends the question again at once; after an answer that is on its way, once more. */
  askNow(): void {
    this.isHurried = true;
    this.resting.abort();
  }

  private tell(failure: unknown): void {
    this.isDoubted = failure instanceof SilenceError;
    if (this.isDoubted) this.listener.onDoubt();
    else this.listener.onLost(failure);
  }

  /** Until the connection fails, which is thrown, or the signal comes. */
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
  // Of several statements each has a result, whatever the types of the driver say.
  const results = [await answer].flat() as pg.QueryResult<Row>[];
  return results.at(-1)?.rows[0];
}

/** Who is silent hears no good-bye either. */
async function end(client: pg.Client, failure: unknown = null): Promise<void> {
  if (!(failure instanceof SilenceError)) await settlesWithin(PATIENCE, client.end());
  destroyConnection(client);
}
