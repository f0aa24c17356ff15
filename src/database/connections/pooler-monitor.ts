import { setTimeout as sleep } from 'node:timers/promises';
import { Inject, Injectable, Logger, type OnModuleDestroy, type OnModuleInit } from '@nestjs/common';
import type { Config } from '../../config/config.js';
import { CONFIG } from '../../config/config.module.js';
import { Database } from '../database.js';
import { DatabaseStartError } from './database-start.error.js';
import { Replicas } from './replicas.js';
import { SHARED_SESSIONS, sharesSessions } from './pooler-check.js';

/**
 * Milliseconds between two checks: normally, and after a check that found a pooler or no server. A new
 * connection of the heartbeat is followed by a check at once.
 */
const INTERVAL = 3_600_000;
const SOON = 60_000;

/** The result of the check of one server; `isShared` is null if the server could not be queried. */
interface Found {
  readonly server: string;
  readonly isShared: boolean | null;
}

/** Verifies that connections keep their session, which prepared statements and locks need (docs/adr/0034). */
@Injectable()
export class PoolerMonitor implements OnModuleInit, OnModuleDestroy {
  private readonly logger = new Logger('Database');
  private readonly stopping = new AbortController();
  private checking: Promise<void> = Promise.resolve();
  /** The next check does not wait for the interval. */
  private isHurried = false;
  private resting = new AbortController();
  private found: readonly Found[] = [];

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    private readonly database: Database,
    @Inject(Replicas) private readonly replicas: Replicas | null,
  ) {}

  /** @throws DatabaseStartError when a read replica is behind a pooler that shares sessions */
  async onModuleInit(): Promise<void> {
    await this.check();
    const shared = this.found.find(({ isShared }) => isShared === true);
    if (shared !== undefined)
      throw new DatabaseStartError(`The database ${shared.server} cannot be used: ${SHARED_SESSIONS}`);
    this.checking = this.watch(this.stopping.signal);
    this.database.onReconnect = () => {
      this.isHurried = true;
      this.resting.abort();
    };
  }

  async onModuleDestroy(): Promise<void> {
    this.stopping.abort();
    await this.checking;
  }

  get state(): readonly Found[] {
    return this.found;
  }

  /** Checks the primary and the replicas, and stops using those whose sessions are shared. */
  async check(): Promise<void> {
    const { database } = this.config;
    const wereShared = new Set(
      this.found.filter(({ isShared }) => isShared === true).map(({ server }) => server),
    );
    const checkServer = async (server: string, url: string): Promise<Found> => {
      // What was found stays true until the server can be asked again.
      const unknown = wereShared.has(server) ? true : null;
      return { server, isShared: await sharesSessions(url).catch(() => unknown) };
    };
    const [primary, ...others] = await Promise.all([
      checkServer('primary', database.url),
      ...database.replicaUrls.map((url) => checkServer(new URL(url).host, url)),
    ]);
    this.found = [primary, ...others];
    for (const { server, isShared } of this.found) {
      const wasShared = wereShared.has(server);
      if (isShared === true && !wasShared)
        this.logger.error(`The database ${server} is not queried: ${SHARED_SESSIONS}`);
      else if (isShared === false && wasShared)
        this.logger.log(`The database ${server} keeps sessions again`);
    }
    this.database.noteSharedSessions(primary.isShared === true);
    for (const { server, isShared } of others) this.replicas?.noteSharedSessions(server, isShared === true);
  }

  private async watch(signal: AbortSignal): Promise<void> {
    for (;;) {
      await this.rest(signal);
      if (signal.aborted) return;
      this.isHurried = false;
      await this.check();
    }
  }

  private async rest(signal: AbortSignal): Promise<void> {
    if (this.isHurried) return;
    this.resting = new AbortController();
    const either = AbortSignal.any([signal, this.resting.signal]);
    const isWell = this.found.every(({ isShared }) => isShared === false);
    await sleep(isWell ? INTERVAL : SOON, undefined, { signal: either }).catch(() => undefined);
  }
}
