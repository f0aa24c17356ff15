import { setTimeout as sleep } from 'node:timers/promises';
import type { Config } from '../../config/config.js';
import { SourceError } from '../../sources/source.error.js';
import { LdifError } from '../../ldap/ldif/ldif-error.js';
import { type FileChanges, LdifIndex } from '../../sources/ldif/ldif-index.js';
import type { LdifSource } from '../../sources/ldif/ldif-source.js';
import type { SyncOutcome } from '../sync/outcome.js';
import { addAffectedEntries } from './groups-named.js';
import type { Follower } from './follower.js';
import { type MirrorState, type MirrorStatus, SyncState } from '../status/mirror-state.js';
import type { RunReporter } from '../sync/run-reporter.js';
import type { Synchronizer } from '../sync/synchronizer.js';

const POLL_INTERVAL_MS = 100;
/** A file that is still being written changes within this number of checks. */
const SETTLED_CHECKS = 2;

export class FileFollower implements Follower {
  /** The records of the file that the mirror equals; null: unknown. */
  private index: LdifIndex | null = null;
  /** Fingerprint of the last file that cannot be indexed. */
  private unindexable: string | null = null;
  /** Fingerprint of the last file that was tried. */
  private tried: string | null = null;
  /** Whether that file was invalid. It is not read again before it changes. */
  private isBroken = false;
  /** Milliseconds on a monotonic clock, because the system clock may be set back. */
  private confirmedAt = 0;

  constructor(
    private readonly config: Config['directory'],
    private readonly source: LdifSource,
    private readonly synchronizer: Synchronizer,
    private readonly state: MirrorState,
    private readonly reporter: RunReporter,
  ) {}

  async follow(signal: AbortSignal, settled: () => void): Promise<void> {
    await this.run(signal);
    settled();
    await this.keepIndex(signal);
    let seen: string | null = null;
    let unchanged = 0;
    for (;;) {
      await sleep(POLL_INTERVAL_MS, undefined, { signal }).catch(() => undefined);
      if (signal.aborted) return;
      const fingerprint = await this.readFingerprint();
      unchanged = fingerprint === seen ? unchanged + 1 : 0;
      seen = fingerprint;
      if (unchanged < SETTLED_CHECKS) continue;
      const quiet = fingerprint === this.tried;
      if (quiet && performance.now() - this.confirmedAt < this.config.syncSeconds * 1000) continue;
      if (quiet && (this.isBroken || (await this.isBlocked(fingerprint)))) {
        this.confirmedAt = performance.now();
        continue;
      }
      await this.run(signal);
      await this.keepIndex(signal);
    }
  }

  /** Returns the source's fingerprint, or a constant if the file is absent: absence is a change too. */
  private async readFingerprint(): Promise<string> {
    return this.source.fingerprint().catch(() => 'absent');
  }

  /**
   * Whether the plan of this file is held. The state is read from the database, because another process may have confirmed the plan.
   * If the mirror equals the file, the plan is that of another process with another model or file.
   */
  private async isBlocked(file: string): Promise<boolean> {
    const { state, fingerprint } = await this.state
      .get()
      .catch(() => ({ state: SyncState.IDLE, fingerprint: null }));
    return state === SyncState.BLOCKED && fingerprint !== file;
  }

  private async run(signal: AbortSignal): Promise<void> {
    const fingerprint = await this.readFingerprint();
    try {
      const outcome =
        (await this.takeChanges(fingerprint, signal)) ??
        (await this.reporter.reportRun((progress) =>
          this.synchronizer.run(this.source, { signal, progress }),
        ));
      await this.reporter.reportUpToDate(outcome);
      this.isBroken = outcome.kind === 'failed' && outcome.isFinal;
      this.tried = fingerprint;
    } catch (error) {
      if (signal.aborted) return;
      // The database is unavailable. The next check tries again.
      this.reporter.reportInterruption(error);
      await sleep(1000, undefined, { signal }).catch(() => undefined);
    }
    this.confirmedAt = performance.now();
  }

  /** Indexes the file that the mirror equals, so that its next change costs what changed. */
  private async keepIndex(signal: AbortSignal): Promise<void> {
    const { fingerprint, state } = await this.state.get().catch(() => ({ fingerprint: null, state: null }));
    if (state !== SyncState.IDLE || fingerprint === null || signal.aborted) return;
    if ([this.index?.fingerprint, this.unindexable].includes(fingerprint)) return;
    // A file that cannot be read now is read completely later, which reports the reason.
    const index = await LdifIndex.read(this.source, signal).catch(() => null);
    this.index = index?.fingerprint === fingerprint ? index : null;
    if (index === null) this.unindexable = fingerprint;
  }

  /** Applies the changed records. Null if the whole file has to be read. */
  private async takeChanges(fingerprint: string, signal: AbortSignal): Promise<SyncOutcome | null> {
    const { index } = this;
    if (index === null || fingerprint === index.fingerprint) return null;
    const before = await this.state.get();
    if (before.state !== SyncState.IDLE || before.fingerprint !== index.fingerprint) return null;
    const changes = await readChanges(index, signal);
    if (changes === null) return null;
    try {
      return await this.apply(changes, before, signal);
    } catch (error) {
      if (error instanceof SourceError) return null;
      throw error;
    } finally {
      await changes.close();
    }
  }

  private async apply(
    { delta, index, readAgain }: FileChanges,
    before: MirrorStatus,
    signal: AbortSignal,
  ): Promise<SyncOutcome | null> {
    const { config, synchronizer, reporter } = this;
    const { manager } = synchronizer.dataSource;
    await addAffectedEntries(delta, { manager, config }, readAgain);
    const { fingerprint } = index;
    // What was read again may be from a file that is written at the same time.
    if ((await this.readFingerprint()) !== fingerprint) return null;
    const advance = { delta, asOf: before.now, position: null, signal, fingerprint, before };
    const outcome = await reporter.reportRun(() => synchronizer.advance(advance));
    this.index = outcome.kind === 'blocked' ? null : index;
    return outcome;
  }
}

/** Null if the whole file has to be read, which also reports its errors with their lines. */
async function readChanges(index: LdifIndex, signal: AbortSignal): Promise<FileChanges | null> {
  try {
    return await index.readChanges(signal);
  } catch (error) {
    if (error instanceof LdifError || error instanceof SourceError || signal.aborted) return null;
    throw error;
  }
}
