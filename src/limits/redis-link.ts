import { setTimeout as sleep } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import { createClient, type RedisClientType } from '@redis/client';
import type { RedisConfig } from '../config/settings/redis.js';
import { Patience } from './login-delay.js';

/** Milliseconds that slow answers may take in all: then nobody asks until Redis is back. */
const PATIENCE = 150;
/** Milliseconds within which an answer is quick. */
const QUICK = 50;
/** Milliseconds that a new connection may take, with all that is said on it first. */
const CONNECT_PATIENCE = 1000;
/** Milliseconds between two attempts to come back. */
const PAUSE = 500;
const TOO_SLOW = 'it does not answer, or too slowly';

/**
 * A connection to Redis that is either good or away. The first answer that is late or an error ends it, together with
 * all that wait on it; then a new one is tried twice a second, and is used once it has answered a probe.
 */
export class RedisLink {
  /** Not to be asked but by a question that is put through `ask`. */
  readonly client: RedisClientType;
  private readonly logger = new Logger('Limits');
  private readonly patience = new Patience(QUICK, PATIENCE);
  private isGood = false;
  private isStopped = false;
  /** Why the last connection was lost: the first reason that there was. Null: it was not. */
  private failure: string | null = null;

  /** @param probe must succeed before a connection is used */
  constructor(
    config: RedisConfig,
    private readonly probe: () => Promise<unknown>,
  ) {
    this.client = buildClient(config);
    this.client.on('error', (error: unknown) => {
      this.lose(error);
    });
  }

  get isUp(): boolean {
    return this.isGood;
  }

  async start(): Promise<void> {
    if (!(await this.connect())) this.goAway();
  }

  /**
   * Looks once whether it could be used.
   * @returns why not; null: it could
   */
  async examine(): Promise<string | null> {
    await this.connect();
    this.stop();
    return this.failure;
  }

  stop(): void {
    this.isStopped = true;
    this.close();
  }

  /** @returns the answer to a question that is put to Redis; rejects when it is an error or late, and is away then */
  async ask<Answer>(question: () => Promise<Answer>, patience = this.patience): Promise<Answer> {
    try {
      return await new Promise((resolve, reject) => {
        const noteAnswer = patience.begin(() => {
          reject(new Error(TOO_SLOW));
        });
        question().finally(noteAnswer).then(resolve, reject);
      });
    } catch (error) {
      this.lose(error);
      throw error;
    }
  }

  /** @returns whether it worked, or nobody wants it any more; if not, `failure` is why */
  private async connect(): Promise<boolean> {
    if (this.isStopped) return true;
    this.failure = null;
    const tooLate = new AbortController();
    const { signal } = tooLate;
    try {
      await Promise.race([
        this.client.connect().then(() => this.ask(this.probe, new Patience(QUICK, QUICK))),
        sleep(CONNECT_PATIENCE, undefined, { signal }).then(() => Promise.reject(new Error(TOO_SLOW))),
      ]);
      this.isGood = !this.hasStopped();
    } catch (error) {
      this.lose(error);
      return false;
    } finally {
      tooLate.abort();
    }
    if (this.hasStopped()) this.close();
    return true;
  }

  /** Asked anew each time: it may have happened while something was waited for. */
  private hasStopped(): boolean {
    return this.isStopped;
  }

  /** Lets go of the connection; everything that waits on it is rejected. */
  private lose(error: unknown): void {
    // The first is what has happened; what follows is that it was let go.
    this.failure ??= reasonOf(error);
    const wasGood = this.isGood;
    this.close();
    if (wasGood) this.goAway();
  }

  private close(): void {
    this.isGood = false;
    try {
      this.client.destroy();
    } catch {
      // It was closed already, which is all that is wanted.
    }
  }

  private goAway(): void {
    this.logger.warn(`Redis is away, so each process keeps the limits on its own for now: ${this.failure}`);
    void this.comeBack();
  }

  private async comeBack(): Promise<void> {
    let isBack = false;
    while (!isBack) {
      await sleep(PAUSE, undefined, { ref: false });
      isBack = await this.connect();
    }
    if (!this.hasStopped()) this.logger.log('Redis is back, and limits are shared again');
  }
}

/** It reconnects never by itself: what it has not answered would be asked again, after everybody has gone on. */
function buildClient({ url, certificates }: RedisConfig): RedisClientType {
  const socket = { reconnectStrategy: false as const, connectTimeout: CONNECT_PATIENCE };
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
