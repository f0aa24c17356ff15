import { setTimeout as sleep } from 'node:timers/promises';
import type { Config } from '../../config/config.js';
import type { DirectorySource } from '../../sources/source.js';
import type { Follower } from './follower.js';
import { type MirrorState, SyncState } from '../status/mirror-state.js';
import type { RunReporter } from '../sync/run-reporter.js';
import type { Synchronizer } from '../sync/synchronizer.js';

const POLL_INTERVAL_MS = 250;

export class FileFollower implements Follower {
  /** Fingerprint of the last file that was tried. */
  private tried: string | null = null;
  /** Whether that file was invalid. It is not read again before it changes. */
  private isBroken = false;
  /** Milliseconds on a monotonic clock, because the system clock may be set back. */
  private confirmedAt = 0;

  constructor(
    private readonly config: Config['directory'],
    private readonly source: DirectorySource,
    private readonly synchronizer: Synchronizer,
    private readonly state: MirrorState,
    private readonly reporter: RunReporter,
  ) {}

  async follow(signal: AbortSignal, settled: () => void): Promise<void> {
    await this.run(signal);
    settled();
    let seen: string | null = null;
    for (;;) {
      await sleep(POLL_INTERVAL_MS, undefined, { signal }).catch(() => undefined);
      if (signal.aborted) return;
      const fingerprint = await this.readFingerprint();
      const hasSettled = fingerprint === seen;
      seen = fingerprint;
      // A file that is still being written changes between two checks.
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

  /** Returns the source's fingerprint, or a constant if the file is absent: absence is a change too. */
  private async readFingerprint(): Promise<string> {
    return this.source.fingerprint().catch(() => 'absent');
  }

  /** Reads the state from the database, because another process may have confirmed the held plan. */
  private async isBlocked(): Promise<boolean> {
    const { state } = await this.state.get().catch(() => ({ state: SyncState.IDLE }));
    return state === SyncState.BLOCKED;
  }

  private async run(signal: AbortSignal): Promise<void> {
    const fingerprint = await this.readFingerprint();
    try {
      const outcome = await this.reporter.reportRun((progress) =>
        this.synchronizer.run(this.source, { signal, progress }),
      );
      this.isBroken = outcome.kind === 'failed' && outcome.isFinal;
      this.tried = fingerprint;
    } catch (error) {
      // The database is unavailable. The next check tries again.
      this.reporter.reportInterruption(error);
      await sleep(1000, undefined, { signal }).catch(() => undefined);
    }
    this.confirmedAt = performance.now();
  }
}
