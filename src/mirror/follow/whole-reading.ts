import type { DirectorySource } from '../../sources/source.js';
import { ServerBehindError, SourceError } from '../../sources/source.error.js';
import type { ScanResult } from '../reconcile/scan.js';
import { StampedSource } from '../reconcile/stamped-source.js';
import type { SyncOutcome } from '../sync/outcome.js';
import type { FollowDependencies } from './follow-dependencies.js';
import type { PendingChanges } from './pending-changes.js';

/** Reads the whole directory, and remembers whether and why that is necessary. */
export class WholeReading {
  /** Whether the server cannot continue from the position, or too much differs. */
  isNeeded = false;
  /** The comparison that requires the reading, or null if no comparison does. */
  private found: ScanResult | null = null;

  constructor(private readonly dependencies: FollowDependencies) {}

  require(found: ScanResult | null): void {
    this.isNeeded = true;
    this.found = found ?? this.found;
  }

  async take(
    source: DirectorySource,
    pendingChanges: PendingChanges,
    signal: AbortSignal,
    whenBehind: 'hold' | 'fail',
  ): Promise<SyncOutcome> {
    const begun = performance.now();
    const { config, directory } = this.dependencies;
    const { uuid } = config.mapping.users;
    const stamped = new StampedSource(source, uuid, (entry) => directory.stampOf(entry));
    const outcome = await this.run(stamped, signal, whenBehind);
    if (outcome.kind === 'blocked') return outcome;
    const { found } = this;
    this.isNeeded = false;
    this.found = null;
    const seconds = (performance.now() - begun) / 1000;
    await pendingChanges.noteWhole(outcome, stamped.stamps, seconds, found);
    return outcome;
  }

  /** @throws SourceError if the directory cannot be read; ServerBehindError if the server is behind */
  async run(source: DirectorySource, signal: AbortSignal, whenBehind: 'hold' | 'fail'): Promise<SyncOutcome> {
    const { reporter, synchronizer } = this.dependencies;
    const outcome = await reporter.reportRun((progress) =>
      synchronizer.run(source, { force: true, signal, progress, whenBehind }),
    );
    if (outcome.kind === 'failed')
      throw outcome.isBehind ? new ServerBehindError(outcome.reason) : new SourceError(outcome.reason);
    return outcome;
  }
}
