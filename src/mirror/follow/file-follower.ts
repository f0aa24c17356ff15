import { setTimeout as sleep } from 'node:timers/promises';
import type { Config } from '../../config/config.js';
import type { DirectorySource } from '../../sources/source.js';
import type { Follower } from './follower.js';
import { type MirrorState, SyncState } from '../status/mirror-state.js';
import type { RunReporter } from '../sync/run-reporter.js';
import type { Synchroniser } from '../sync/synchronizer.js';

/** Milliseconds between two looks at the file. */
const LOOK_INTERVAL = 250;

/** Keeps the mirror true to a file, by looking whether it is still the same. */
export class FileFollower implements Follower {
  /** What was tried last, by fingerprint. */
  private tried: string | null = null;
  /** It was broken: reading it again and again is no use. */
  private isBroken = false;
  /** On a clock that only goes forward: that of the machine may be set back. */
  private confirmedAt = 0;

  constructor(
    private readonly config: Config['directory'],
    private readonly source: DirectorySource,
    private readonly synchroniser: Synchroniser,
    private readonly state: MirrorState,
    private readonly reporter: RunReporter,
  ) {}

  async follow(signal: AbortSignal, settled: () => void): Promise<void> {
    await this.run(signal);
    settled();
    let seen: string | null = null;
    for (;;) {
      await sleep(LOOK_INTERVAL, undefined, { signal }).catch(() => undefined);
      if (signal.aborted) return;
      const fingerprint = await this.look();
      const hasSettled = fingerprint === seen;
      seen = fingerprint;
      // A file that somebody is still writing changes from one look to the next.
      if (!hasSettled) continue;
      const quiet = fingerprint === this.tried;
      if (quiet && performance.now() - this.confirmedAt < this.config.syncSeconds * 1000) continue;
      if (quiet && (this.isBroken || (await this.isBlocked()))) {
        this.confirmedAt = performance.now();
        continue;
      }
      await this.run(signal);
    }
  }

  /** The source's fingerprint, or a name for its absence, which is a change too. */
  private async look(): Promise<string> {
    return this.source.fingerprint().catch(() => 'absent');
  }

  /** Asked of the database: another process may have confirmed the plan that was held. */
  private async isBlocked(): Promise<boolean> {
    const { state } = await this.state.get().catch(() => ({ state: SyncState.IDLE }));
    return state === SyncState.BLOCKED;
  }

  private async run(signal: AbortSignal): Promise<void> {
    const fingerprint = await this.look();
    try {
      const outcome = await this.reporter.tell((progress) =>
        this.synchroniser.run(this.source, { signal, progress }),
      );
      this.isBroken = outcome.kind === 'failed' && outcome.isFinal;
      this.tried = fingerprint;
    } catch (error) {
      // The database is away: the next look tries again.
      this.reporter.tellInterruption(error);
      await sleep(1000, undefined, { signal }).catch(() => undefined);
    }
    this.confirmedAt = performance.now();
  }
}
