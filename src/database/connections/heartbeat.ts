import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { SESSION_SETTINGS, destroyConnection, SocketClient } from './socket-client.js';
import { settlesWithin } from './settles-within.js';

/** Milliseconds that an answer may take before the connection is suspected to hang. */
const PATIENCE = 500;
/**
 * Milliseconds of a suspicion: if neither the answer nor a second connection arrives, the server is considered
 * hanging. With the interval of one second and PATIENCE, a caller waits for less than three seconds.
 */
const DOUBT = 1250;
/** The same for a first connection, when nothing else makes the server suspicious. */
const TRUST = 2000;
/**
 * Milliseconds after which connecting starts again. It doubles with each attempt, because a server without
 * processor time may take longer, and because connecting takes many round trips to a server far away.
 */
const CONNECTING = 4000;
const LONGEST_CONNECTING = 8000;
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
  readonly onQuestion?: () => void;
  readonly onAnswer: (row: Row | undefined) => void;
  /** Called after the first answer on each connection but the first. */
  readonly onReconnect?: () => void;
  /** Called with the payload of a notification from the server. */
  readonly onNotification?: (payload: string | undefined) => void;
  /** Called when the server refuses or has ended the connection. */
  readonly onLost: (error: unknown) => void;
  /** Called when an answer is overdue. Possibly only this connection is cut. */
  readonly onDoubt: () => void;
  /** Called when the server neither accepts nor refuses a connection: other queries would wait in vain. */
  readonly onHang?: () => void;
  /**
   * Bytes from the server on other connections. While they grow it is only busy, and onHang is not called.
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

/** Checks on its own connection whether a server is alive. A hanging server shows only by missing answers. */
export class Pulse<Row extends object> {
  /** Attempts to connect that have failed without an answer since the last answer. */
  private silences = 0;
  /** Number of connections that have answered. */
  private connections = 0;
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
      const client = this.createClient();
      try {
        await this.feelOn(client, signal);
        await end(client);
      } catch (failure) {
        this.tell(failure);
        await end(client, failure);
        // After a missing answer the time limit has already passed, so no pause follows.
        if (!(failure instanceof SilenceError))
          await sleep(PAUSE, undefined, { signal }).catch(() => undefined);
      }
    }
  }

  /** Sends the query at once. If an answer is pending, sends the query once more after it. */
  askNow(): void {
    this.isHurried = true;
    this.resting.abort();
  }

  private createClient(): SocketClient {
    return new SocketClient({ connectionString: this.question.url, keepAlive: true });
  }

  private tell(failure: unknown): void {
    if (failure instanceof SilenceError) this.listener.onDoubt();
    else this.listener.onLost(failure);
  }

  /** Runs on one connection until the signal is aborted. Throws the error of the connection. */
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
    await this.connect(client, signal);
    await this.ask(client, greeting === null ? SESSION_SETTINGS : `${SESSION_SETTINGS}; ${greeting}`, signal);
    for (let answers = 1; !signal.aborted; answers++) {
      this.isHurried = false;
      this.listener.onQuestion?.();
      this.listener.onAnswer(await this.ask(client, text, signal));
      this.silences = 0;
      if (answers === 1 && this.connections++ > 0) this.listener.onReconnect?.();
      await this.rest(interval, either);
    }
  }

  private async rest(interval: number, signal: AbortSignal): Promise<void> {
    if (this.isHurried) return;
    this.resting = new AbortController();
    const either = AbortSignal.any([signal, this.resting.signal]);
    await sleep(interval, undefined, { signal: either }).catch(() => undefined);
  }

  private async connect(client: pg.Client, signal: AbortSignal): Promise<void> {
    const connecting = client.connect();
    const patience = this.silences === 0 ? TRUST : DOUBT;
    await this.waitForLife(connecting, patience, signal);
    const limit = Math.min(LONGEST_CONNECTING, CONNECTING * 2 ** this.silences);
    if (!(await settlesWithin(limit - patience, connecting, signal))) {
      this.silences++;
      throw new SilenceError();
    }
    await connecting;
  }

  /** Calls `onHang` if the promise does not settle in time and no other connection receives anything. */
  private async waitForLife(sign: Promise<unknown>, patience: number, signal: AbortSignal): Promise<void> {
    const before = this.listener.receivedBytes?.();
    if ((await settlesWithin(patience, sign, signal)) || signal.aborted) return;
    if (this.listener.receivedBytes?.() === before) this.listener.onHang?.();
  }

  /** @throws SilenceError when the answer is missing although the server accepts connections, or hangs */
  private async ask(client: pg.Client, text: string, signal: AbortSignal): Promise<Row | undefined> {
    const answer = client.query<Row>(text);
    if (!(await settlesWithin(PATIENCE, answer))) {
      this.listener.onDoubt();
      await this.compareWithSecond(answer, signal);
      if (!(await settlesWithin(PATIENCE, answer))) throw new SilenceError();
    }
    // Several statements give one result each, although the types of the driver declare a single one.
    const results = [await answer].flat() as pg.QueryResult<Row>[];
    return results.at(-1)?.rows[0];
  }

  /**
   * Opens a second connection and waits until it is accepted or refused, or until the overdue answer arrives.
   * A connection can be lost while the server works. A server without processor time often answers on an open
   * connection before it accepts a new one.
   */
  private async compareWithSecond(answer: Promise<unknown>, signal: AbortSignal): Promise<void> {
    const second = this.createClient();
    second.on('error', () => undefined);
    try {
      const sign = Promise.race([answer, second.connect()]);
      await this.waitForLife(sign, DOUBT, signal);
      await settlesWithin(LONGEST_CONNECTING - DOUBT, sign, signal);
    } finally {
      destroyConnection(second);
    }
  }
}

/** A server that does not answer is not sent a termination message. */
async function end(client: pg.Client, failure: unknown = null): Promise<void> {
  if (!(failure instanceof SilenceError)) await settlesWithin(PATIENCE, client.end());
  destroyConnection(client);
}
