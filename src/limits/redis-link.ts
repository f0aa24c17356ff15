import { setTimeout as sleep } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import type { RedisClientType } from '@redis/client';
import type { RedisConfig } from '../config/config.js';
import { Patience } from './patience.js';

/** Milliseconds that slow answers may take in all: then nobody asks until Redis is back. */
const PATIENCE = 150;
/** Milliseconds within which an answer is quick. */
const QUICK = 50;
/** Milliseconds that a new connection may take, with all that is said on it first. */
const CONNECT_PATIENCE = 1000;
/** Milliseconds between two attempts to come back. */
const PAUSE = 500;
const TOO_SLOW = 'it does not answer, or too slowly';

export interface Script {
  readonly source: string;
  readonly sha1: string;
}

/**
 * A connection to Redis that is either good or away. The first answer that is late or an error ends it, together with
 * all that wait on it; then a new one is tried twice a second, and is used once it has answered a probe.
 */
export class RedisLink {
  private readonly logger = new Logger('Limits');
  private client: RedisClientType | null = null;
  private isStopped = false;
  /** Why connections were lost. */
  private readonly reasons = new WeakMap<RedisClientType, string>();
  private readonly patience = new Patience(QUICK, PATIENCE);

  /** @param probe keys and arguments with which the script must run before the connection is used */
  constructor(
    private readonly config: RedisConfig,
    private readonly script: Script,
    private readonly probe: () => [keys: string[], values: string[]],
  ) {}

  get isUp(): boolean {
    return this.client !== null;
  }

  async start(): Promise<void> {
    const failure = await this.connect();
    if (failure !== null) this.goAway(failure);
  }

  /**
   * Looks once whether it could be used.
   * @returns why not; null: it could
   */
  async examine(): Promise<string | null> {
    const failure = await this.connect();
    this.stop();
    return failure;
  }

  stop(): void {
    this.isStopped = true;
    const { client } = this;
    this.client = null;
    if (client !== null) destroy(client);
  }

  /**
   * Runs the script.
   * @returns its reply; null while Redis is away; rejects when it goes away meanwhile
   */
  run(keys: readonly string[], values: readonly string[]): Promise<unknown> | null {
    const { client } = this;
    return client === null ? null : this.runOn(client, keys, values, this.patience);
  }

  private async runOn(
    client: RedisClientType,
    keys: readonly string[],
    values: readonly string[],
    patience: Patience,
  ): Promise<unknown> {
    try {
      return await new Promise((resolve, reject) => {
        const noteAnswer = patience.begin(() => {
          reject(new Error(TOO_SLOW));
        });
        this.send(client, keys, values).finally(noteAnswer).then(resolve, reject);
      });
    } catch (error) {
      this.lose(client, reasonOf(error));
      throw error;
    }
  }

  private async send(
    client: RedisClientType,
    keys: readonly string[],
    values: readonly string[],
  ): Promise<unknown> {
    const rest = [String(keys.length), ...keys, ...values];
    try {
      return await client.sendCommand(['EVALSHA', this.script.sha1, ...rest]);
    } catch (error) {
      if (!(error instanceof Error && error.message.startsWith('NOSCRIPT'))) throw error;
      return client.sendCommand(['EVAL', this.script.source, ...rest]);
    }
  }

  /** @returns why it did not work; null: it did, or nobody wants it any more */
  private async connect(): Promise<string | null> {
    if (this.hasStopped()) return null;
    const client = await this.createClient();
    try {
      await new Promise((resolve, reject) => {
        const giveUp = setTimeout(() => {
          reject(new Error(TOO_SLOW));
        }, CONNECT_PATIENCE);
        const first = client
          .connect()
          .then(() => this.runOn(client, ...this.probe(), new Patience(QUICK, QUICK)));
        first
          .finally(() => {
            clearTimeout(giveUp);
          })
          .then(resolve, reject);
      });
    } catch (error) {
      this.lose(client, reasonOf(error));
      return this.reasons.get(client) ?? '';
    }
    if (this.hasStopped()) destroy(client);
    else this.client = client;
    return null;
  }

  /** Asked anew each time: it may have happened while something was waited for. */
  private hasStopped(): boolean {
    return this.isStopped;
  }

  /** Reconnects never by itself: what it has not answered would be asked again, after everybody has gone on. */
  private async createClient(): Promise<RedisClientType> {
    const { url, certificates } = this.config;
    // Loading it takes a tenth of a second, which only those pay who use it.
    const { createClient } = await import('@redis/client');
    const socket = { reconnectStrategy: false as const, connectTimeout: CONNECT_PATIENCE };
    const client = createClient({
      url,
      socket: url.startsWith('rediss:')
        ? { ...socket, tls: true, ...(certificates === null ? {} : { ca: certificates }) }
        : socket,
      disableOfflineQueue: true,
      maintNotifications: 'disabled',
    }) as unknown as RedisClientType;
    client.on('error', (error: unknown) => {
      this.lose(client, reasonOf(error));
    });
    return client;
  }

  /** Lets go of a connection; everything that waits on it is rejected. */
  private lose(client: RedisClientType, reason: string): void {
    // The first is what has happened; what follows is that it was let go.
    if (!this.reasons.has(client)) this.reasons.set(client, reason);
    destroy(client);
    if (client !== this.client) return;
    this.client = null;
    this.goAway(reason);
  }

  private goAway(reason: string): void {
    this.logger.warn(`Redis is away, so each process keeps the limits on its own for now: ${reason}`);
    void this.comeBack();
  }

  private async comeBack(): Promise<void> {
    let failure: string | null = '';
    while (failure !== null) {
      await sleep(PAUSE, undefined, { ref: false });
      failure = await this.connect();
    }
    if (!this.hasStopped()) this.logger.log('Redis is back, and limits are shared again');
  }
}

function destroy(client: RedisClientType): void {
  try {
    client.destroy();
  } catch {
    // It was closed already, which is all that is wanted.
  }
}

function reasonOf(error: unknown): string {
  const { message, code } = error as { message?: string; code?: string };
  return message === undefined || message === '' ? (code ?? 'it cannot be reached') : message;
}
