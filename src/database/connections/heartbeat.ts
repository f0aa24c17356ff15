import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { SESSION_SETTINGS, destroyConnection, SocketClient } from './socket-client.js';
import { settlesWithin } from './settles-within.js';

/** Time limit of an answer. After it the connection is suspected to hang. */
const ANSWER_TIMEOUT_MS = 500;
/**
 * If within this time neither the answer nor a second connection arrives, the server is considered
 * hanging. With the interval of one second and ANSWER_TIMEOUT_MS, a caller waits for less than three seconds.
 */
const SUSPICION_MS = 1250;
/** The same for a first connection, when nothing else makes the server suspicious. */
const FIRST_CONNECT_MS = 2000;
/**
 * Milliseconds after which connecting starts again. It doubles with each attempt, because a server without
 * processor time may take longer, and because connecting takes many round trips to a server far away.
 */
const CONNECT_TIMEOUT_MS = 4000;
const MAX_CONNECT_TIMEOUT_MS = 8000;
/** Milliseconds between a refused connection and the next attempt. */
const RETRY_PAUSE_MS = 1000;

export interface HeartbeatQuery {
  readonly url: string;
  /** SQL that is sent first on every connection; null for none. */
  readonly firstSql: string | null;
  /** The query that is sent repeatedly. */
  readonly text: string;
  /** Returns its values at the time at which it is sent. */
  readonly values?: () => unknown[];
  /** Milliseconds between an answer and the next query. */
  readonly interval: number;
}

interface HeartbeatListener<Row extends object> {
  readonly onQuery?: () => void;
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
export class DatabaseHeartbeat<Row extends object> {
  /** Attempts to connect that have failed without an answer since the last answer. */
  private silences = 0;
  /** Number of connections that have answered. */
  private connections = 0;
  /** The next query does not wait for the interval. */
  private skipsInterval = false;
  private pausing = new AbortController();

  constructor(
    private readonly query: HeartbeatQuery,
    private readonly listener: HeartbeatListener<Row>,
  ) {}

  /** Runs until the signal is aborted. Never throws. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const client = this.createClient();
      try {
        await this.runOn(client, signal);
        await end(client);
      } catch (failure) {
        this.report(failure);
        await end(client, failure);
        // After a missing answer the time limit has already passed, so no pause follows.
        if (!(failure instanceof SilenceError))
          await sleep(RETRY_PAUSE_MS, undefined, { signal }).catch(() => undefined);
      }
    }
  }

  /** Sends the query at once. If an answer is pending, sends the query once more after it. */
  queryNow(): void {
    this.skipsInterval = true;
    this.pausing.abort();
  }

  private createClient(): SocketClient {
    return new SocketClient({ connectionString: this.query.url, keepAlive: true });
  }

  private report(failure: unknown): void {
    if (failure instanceof SilenceError) this.listener.onDoubt();
    else this.listener.onLost(failure);
  }

  /** Runs on one connection until the signal is aborted. Throws the error of the connection. */
  private async runOn(client: pg.Client, signal: AbortSignal): Promise<void> {
    const { firstSql, text, values, interval } = this.query;
    const lost = new AbortController();
    client.on('error', () => {
      lost.abort();
    });
    client.on('notification', ({ payload }) => {
      this.listener.onNotification?.(payload);
    });
    const either = AbortSignal.any([signal, lost.signal]);
    await this.connect(client, signal);
    await this.ask(client, firstSql === null ? SESSION_SETTINGS : `${SESSION_SETTINGS}; ${firstSql}`, signal);
    for (let answers = 1; !signal.aborted; answers++) {
      this.skipsInterval = false;
      this.listener.onQuery?.();
      this.listener.onAnswer(await this.ask(client, text, signal, values?.()));
      this.silences = 0;
      if (answers === 1 && this.connections++ > 0) this.listener.onReconnect?.();
      await this.pause(interval, either);
    }
  }

  private async pause(interval: number, signal: AbortSignal): Promise<void> {
    if (this.skipsInterval) return;
    this.pausing = new AbortController();
    const either = AbortSignal.any([signal, this.pausing.signal]);
    await sleep(interval, undefined, { signal: either }).catch(() => undefined);
  }

  private async connect(client: pg.Client, signal: AbortSignal): Promise<void> {
    const connecting = client.connect();
    const timeoutMs = this.silences === 0 ? FIRST_CONNECT_MS : SUSPICION_MS;
    await this.waitForSign(connecting, timeoutMs, signal);
    const limit = Math.min(MAX_CONNECT_TIMEOUT_MS, CONNECT_TIMEOUT_MS * 2 ** this.silences);
    if (!(await settlesWithin(limit - timeoutMs, connecting, signal))) {
      this.silences++;
      throw new SilenceError();
    }
    await connecting;
  }

  /** Calls `onHang` if the promise does not settle in time and no other connection receives anything. */
  private async waitForSign(sign: Promise<unknown>, timeoutMs: number, signal: AbortSignal): Promise<void> {
    const before = this.listener.receivedBytes?.();
    if ((await settlesWithin(timeoutMs, sign, signal)) || signal.aborted) return;
    if (this.listener.receivedBytes?.() === before) this.listener.onHang?.();
  }

  /** @throws SilenceError when the answer is missing although the server accepts connections, or hangs */
  private async ask(
    client: pg.Client,
    text: string,
    signal: AbortSignal,
    values?: unknown[],
  ): Promise<Row | undefined> {
    const answer = client.query<Row>(text, values);
    if (!(await settlesWithin(ANSWER_TIMEOUT_MS, answer))) {
      this.listener.onDoubt();
      await this.compareWithSecond(answer, signal);
      if (!(await settlesWithin(ANSWER_TIMEOUT_MS, answer))) throw new SilenceError();
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
      await this.waitForSign(sign, SUSPICION_MS, signal);
      await settlesWithin(MAX_CONNECT_TIMEOUT_MS - SUSPICION_MS, sign, signal);
    } finally {
      destroyConnection(second);
    }
  }
}

/** A server that does not answer is not sent a termination message. */
async function end(client: pg.Client, failure: unknown = null): Promise<void> {
  if (!(failure instanceof SilenceError)) await settlesWithin(ANSWER_TIMEOUT_MS, client.end());
  destroyConnection(client);
}
