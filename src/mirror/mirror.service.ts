import { setTimeout as sleep } from 'node:timers/promises';
import {
  type BeforeApplicationShutdown,
  Inject,
  Injectable,
  Logger,
  type OnModuleDestroy,
} from '@nestjs/common';
import type { Config } from '../config/config.js';
import { CONFIG } from '../config/config.module.js';
import { MirrorState, SyncState } from './mirror-state.js';
import { summarise } from './summary.js';
import { type Outcome, Synchroniser } from './synchroniser.js';

/** Milliseconds between two looks at the file. */
const LOOK_INTERVAL = 250;

/** Keeps the mirror true to its source for as long as the service runs. */
@Injectable()
export class MirrorService implements OnModuleDestroy, BeforeApplicationShutdown {
  private readonly logger = new Logger('Mirror');
  private readonly stopping = new AbortController();
  private loop: Promise<void> = Promise.resolve();
  /** What was tried last, by fingerprint. */
  private tried: string | null = null;
  /** It was broken: reading it again and again is no use. */
  private isBroken = false;
  private confirmedAt = 0;

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    private readonly synchroniser: Synchroniser,
    private readonly state: MirrorState,
  ) {}

  /** Brings the mirror up to date once, and goes on doing so. */
  async start(): Promise<void> {
    const first = this.runQuietly();
    this.loop = first.then(() => this.follow());
    await first;
  }

  onModuleDestroy(): void {
    this.stopping.abort();
  }

  /** A run that is under way ends before its database is closed. */
  async beforeApplicationShutdown(): Promise<void> {
    await this.loop;
  }

  private async follow(): Promise<void> {
    const { signal } = this.stopping;
    let seen: string | null = null;
    for (;;) {
      await sleep(LOOK_INTERVAL, undefined, { signal }).catch(() => undefined);
      if (signal.aborted) return;
      const fingerprint = await this.look();
      const settled = fingerprint === seen;
      seen = fingerprint;
      // A file that somebody is still writing changes from one look to the next.
      if (!settled) continue;
      const quiet = fingerprint === this.tried;
      if (quiet && Date.now() - this.confirmedAt < this.config.directory.syncSeconds * 1000) continue;
      if (quiet && (this.isBroken || (await this.isBlocked()))) {
        this.confirmedAt = Date.now();
        continue;
      }
      await this.runQuietly();
    }
  }

  /** The source's fingerprint, or a name for its absence, which is a change too. */
  private async look(): Promise<string> {
    return this.synchroniser.fingerprint().catch(() => 'absent');
  }

  /** Asked of the database: another process may have confirmed the plan that was held. */
  private async isBlocked(): Promise<boolean> {
    const { state } = await this.state.get().catch(() => ({ state: SyncState.IDLE }));
    return state === SyncState.BLOCKED;
  }

  private async runQuietly(): Promise<void> {
    const fingerprint = await this.look();
    const begun = performance.now();
    try {
      const outcome = await this.synchroniser.run({ signal: this.stopping.signal });
      this.tell(outcome, Math.round(performance.now() - begun));
      this.isBroken = outcome.kind === 'failed' && outcome.isFinal;
      this.tried = fingerprint;
    } catch (error) {
      // The database is away: the next look tries again.
      this.logger.error(`Synchronisation was interrupted: ${error instanceof Error ? error.message : ''}`);
      await sleep(1000, undefined, { signal: this.stopping.signal }).catch(() => undefined);
    }
    this.confirmedAt = Date.now();
  }

  private tell(outcome: Outcome, milliseconds: number): void {
    switch (outcome.kind) {
      case 'applied':
        this.logger.log(`Revision ${outcome.revision} in ${milliseconds} ms: ${summarise(outcome)}`);
        break;
      case 'blocked':
        this.logger.warn(
          `Synchronisation is held: ${outcome.reason}. If that is right: npm run directory -- sync --confirm ${outcome.plan.hash}`,
        );
        break;
      case 'failed':
        this.logger.warn(`Synchronisation fails, answers stay as they were: ${outcome.reason}`);
        break;
      case 'unchanged':
      case 'planned':
      case 'stopped':
        break;
    }
  }
}
