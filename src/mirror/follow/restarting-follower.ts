import { setTimeout as sleep } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import type { DirectoryConfig } from '../../config/settings/directory.js';
import { IS_COMPLETE, type Writer } from '../../database/statements/statement.js';
import { fingerprintOf } from '../../sources/source.js';
import type { Follower } from './follower.js';

/** Milliseconds between two checks with which model the mirror was written. */
const CHECK_INTERVAL_MS = 1000;
const READ_FINGERPRINT = `select source_fingerprint as fingerprint from mirror_state where ${IS_COMPLETE}`;

/**
 * Starts a follower again when another process, such as the command `sync`, has written the mirror with another model. The follower
 * would otherwise notice it with the next change or interval, because `Synchronizer.advance` refuses to continue from there. Until
 * then, rows lack values, and viewers whom rules of visibility concern are rejected.
 */
export class RestartingFollower implements Follower {
  private readonly logger = new Logger('Mirror');
  /** The end of the fingerprint of a mirror that was written with it. */
  private readonly model: string;

  constructor(
    private readonly follower: Follower,
    private readonly reader: Writer,
    config: DirectoryConfig,
  ) {
    this.model = fingerprintOf(config);
  }

  async follow(signal: AbortSignal, settled: () => void): Promise<void> {
    while (!signal.aborted) {
      const ended = new AbortController();
      const either = AbortSignal.any([signal, ended.signal]);
      const end = () => {
        ended.abort();
      };
      let watching: Promise<void> | undefined;
      const settle = () => {
        settled();
        // At once, before another process can write.
        watching ??= this.untilOtherModel(either).then(end);
      };
      await this.follower.follow(either, settle).finally(end);
      await watching;
    }
  }

  /** Waits until the mirror was written with another model, after it was once written with that of this process. */
  private async untilOtherModel(signal: AbortSignal): Promise<void> {
    let wasOwn = false;
    for (;;) {
      const isOwn = (await this.readFingerprint())?.endsWith(this.model);
      if (wasOwn && isOwn === false) break;
      wasOwn ||= isOwn === true;
      await sleep(CHECK_INTERVAL_MS, undefined, { signal }).catch(() => undefined);
      if (signal.aborted) return;
    }
    this.logger.warn(
      'Another process has written the mirror with another model: the directory is read again',
    );
  }

  /** Null before the first revision, and while the database is away. */
  private async readFingerprint(): Promise<string | null> {
    const rows = await this.reader.query<{ fingerprint: string | null }[]>(READ_FINGERPRINT).catch(() => []);
    return rows[0]?.fingerprint ?? null;
  }
}
