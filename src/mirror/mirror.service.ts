import { type BeforeApplicationShutdown, Inject, Injectable, type OnModuleDestroy } from '@nestjs/common';
import type { Config } from '../config/config.js';
import { CONFIG } from '../config/config.module.js';
import { openSource } from '../sources/open-source.js';
import { FileFollower } from './file-follower.js';
import { MirrorState } from './mirror-state.js';
import { RunReporter } from './run-reporter.js';
import { Synchroniser } from './synchroniser.js';

/** Keeps the mirror true to its source for as long as the service runs. */
@Injectable()
export class MirrorService implements OnModuleDestroy, BeforeApplicationShutdown {
  private readonly stopping = new AbortController();
  private following: Promise<void> = Promise.resolve();

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    private readonly synchroniser: Synchroniser,
    private readonly state: MirrorState,
  ) {}

  /** Brings the mirror up to date once, and goes on doing so. */
  async start(): Promise<void> {
    const { directory } = this.config;
    const follower = new FileFollower(
      directory,
      openSource(directory),
      this.synchroniser,
      this.state,
      new RunReporter(),
    );
    await new Promise<void>((settled) => {
      this.following = follower.follow(this.stopping.signal, settled);
    });
  }

  onModuleDestroy(): void {
    this.stopping.abort();
  }

  /** A run that is under way ends before its database is closed. */
  async beforeApplicationShutdown(): Promise<void> {
    await this.following;
  }
}
