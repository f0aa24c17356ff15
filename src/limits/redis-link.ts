import { setTimeout as sleep } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import { createClient, type RedisClientType } from '@redis/client';
import { Incident } from '../common/incident.js';
import type { RedisConfig } from '../config/settings/redis.js';

/** Limits how long requests wait for a slow server in all. A quick answer restores the budget. */
export class LatencyBudget {
  /** Milliseconds of slow answers since the last quick one. Answers that were slow at the same time count once. */
  private usedMs = 0;
  private lastAnswer = 0;

  /** `quickMs`: the time of a quick answer; `totalMs`: that of consecutive slow answers together. */
  constructor(
    private readonly quickMs: number,
    private readonly totalMs: number,
  ) {}

  /**
   * Starts to wait for an answer, and returns a function to call when it is there. Time in which this process is
   * busy does not count: a turn of the event loop passes before, and another before `giveUp` is called.
   */
  begin(giveUp: () => void): () => void {
    let begun = 0;
    let isSlow = false;
    let timer: NodeJS.Timeout | undefined;
    const afterReading = (milliseconds: number, then: () => void) => {
      timer = setTimeout(() => {
        turn = setImmediate(then);
      }, milliseconds);
    };
    let turn = setImmediate(() => {
      begun = performance.now();
      afterReading(this.quickMs, () => {
        isSlow = true;
        afterReading(Math.max(0, this.totalMs - this.usedMs - this.quickMs), giveUp);
      });
    });
    return () => {
      clearTimeout(timer);
      clearImmediate(turn);
      const now = performance.now();
      this.usedMs = isSlow ? this.usedMs + now - Math.max(begun, this.lastAnswer) : 0;
      this.lastAnswer = now;
    };
  }
}

/** Time of consecutive slow answers together, after which the connection is closed. */
const SLOW_ANSWERS_MS = 150;
/** Time of a quick answer. */
const QUICK_ANSWER_MS = 50;
/** Time for a new connection, including the commands that the client sends first. */
const CONNECT_TIMEOUT_MS = 1000;
/** Time between two attempts to reconnect. */
const RECONNECT_INTERVAL_MS = 500;
const TOO_SLOW = 'it does not answer, or too slowly';

/**
 * A connection to Redis that is either up or down. The first answer that is late or an error closes it and rejects all
 * requests on it. Then it reconnects twice a second, and is up once it has answered a probe.
 */
export abstract class RedisLink {
  /** For requests that go through `send`. */
  protected readonly client: RedisClientType;
  private readonly incident = new Incident(new Logger('Limits'));
  private readonly budget = new LatencyBudget(QUICK_ANSWER_MS, SLOW_ANSWERS_MS);
  private isConnected = false;
  private isStopped = false;
  /** Why the last connection was lost: the first of several reasons. Null if it was not. */
  private failure: string | null = null;

  constructor(config: RedisConfig) {
    this.client = buildClient(config);
    this.client.on('error', (error: unknown) => {
      this.lose(error);
    });
  }

  /** A request that must succeed before a connection is used. */
  protected abstract probe(): Promise<unknown>;

  get isUp(): boolean {
    return this.isConnected;
  }

  /** Connects once and waits for the result. If Redis is down, it goes on trying in the background. */
  async start(): Promise<void> {
    if (!(await this.connect())) this.reconnect();
  }

  /** Connects once, to check the settings. Returns why Redis cannot be used, or null. */
  async examine(): Promise<string | null> {
    await this.connect();
    this.stop();
    return this.failure;
  }

  stop(): void {
    this.isStopped = true;
    this.close();
  }

  /** Sends a request to Redis. If the answer is late or an error, it rejects and closes the connection. */
  protected async send<Answer>(request: () => Promise<Answer>, budget = this.budget): Promise<Answer> {
    try {
      return await new Promise((resolve, reject) => {
        const noteAnswer = budget.begin(() => {
          reject(new Error(TOO_SLOW));
        });
        request().finally(noteAnswer).then(resolve, reject);
      });
    } catch (error) {
      this.lose(error);
      throw error;
    }
  }

  /** @returns false if it failed, for the reason in `failure`; true if it worked or the link was stopped */
  private async connect(): Promise<boolean> {
    if (this.isStopped) return true;
    this.failure = null;
    const tooLate = new AbortController();
    const { signal } = tooLate;
    try {
      await Promise.race([
        this.client
          .connect()
          .then(() => this.send(() => this.probe(), new LatencyBudget(QUICK_ANSWER_MS, QUICK_ANSWER_MS))),
        sleep(CONNECT_TIMEOUT_MS, undefined, { signal }).then(() => Promise.reject(new Error(TOO_SLOW))),
      ]);
      this.isConnected = !this.hasStopped();
    } catch (error) {
      this.lose(error);
      return false;
    } finally {
      tooLate.abort();
    }
    if (this.hasStopped()) this.close();
    return true;
  }

  /** A method, because the value may change during an await. */
  private hasStopped(): boolean {
    return this.isStopped;
  }

  /** Closes the connection and rejects all requests on it. */
  private lose(error: unknown): void {
    // Later errors only report that the connection was closed.
    this.failure ??= reasonOf(error);
    const wasConnected = this.isConnected;
    this.close();
    if (wasConnected) this.reconnect();
  }

  private close(): void {
    this.isConnected = false;
    try {
      this.client.destroy();
    } catch {
      // It was closed already.
    }
  }

  private reconnect(): void {
    this.incident.note(`Redis is unavailable, so each process counts the limits alone: ${this.failure}`);
    void this.keepConnecting();
  }

  private async keepConnecting(): Promise<void> {
    do await sleep(RECONNECT_INTERVAL_MS, undefined, { ref: false });
    while (!(await this.connect()));
    if (!this.hasStopped()) this.incident.end('Redis is reachable, and limits are shared again');
  }
}

/** The client never reconnects by itself, because it would repeat requests that were given up. */
function buildClient({ url, certificates }: RedisConfig): RedisClientType {
  const socket = { reconnectStrategy: false as const, connectTimeout: CONNECT_TIMEOUT_MS };
  const client: unknown = createClient({
    url,
    socket: url.startsWith('rediss:')
      ? { ...socket, tls: true, ...(certificates === null ? {} : { ca: certificates }) }
      : socket,
    disableOfflineQueue: true,
    maintNotifications: 'disabled',
  });
  return client as RedisClientType;
}

function reasonOf(error: unknown): string {
  const { message, code } = error as { message?: string; code?: string };
  return message === undefined || message === '' ? (code ?? 'it cannot be reached') : message;
}
