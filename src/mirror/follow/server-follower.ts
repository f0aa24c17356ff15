import { setTimeout as sleep } from 'node:timers/promises';
import type { LdapSourceConfig } from '../../config/settings/directory.js';
import type { LdapConnection } from '../../ldap/client/ldap-connection.js';
import { ContentSyncRefusedError, RefreshRequiredError } from '../../ldap/sync/content-sync-error.js';
import { ChangeNotification } from '../../sources/ldap/change-notification.js';
import type { ChangeNumbers } from '../../sources/ldap/change-numbers.js';
import { type ChosenMode, chooseMode } from '../../sources/ldap/follow-mode.js';
import { LdapSource } from '../../sources/ldap/ldap-source.js';
import type { DirectorySource } from '../../sources/source.js';
import { ServerBehindError } from '../../sources/source.error.js';
import type { BehindWatch } from './behind-watch.js';
import { CountedChanges } from './counted-changes.js';
import type { FollowDependencies } from './follow-dependencies.js';
import { PendingChanges } from './pending-changes.js';
import { WholeReadingNeededError } from './whole-reading-needed.error.js';
import { PolledChanges } from './polled-changes.js';
import { type OnUpToDate, PushedChanges } from './pushed-changes.js';
import { type MirrorStatus, positionOf, SyncState } from '../status/mirror-state.js';
import type { SyncOutcome } from '../sync/outcome.js';
import type { WholeReading } from './whole-reading.js';

/** Milliseconds after which a server that refused a better mode is asked again. */
const MODE_RETRY_MS = 60_000;
/** Milliseconds between two checks whether an operator has decided about a held plan. */
const DECISION_INTERVAL_MS = 2000;
/** Milliseconds between two requests for the latest number of a server that numbers its changes. */
const COUNT_INTERVAL_MS = 1000;

/** A server that is read completely by each poll rests for this multiple of the duration of the last one. */
const WHOLE_POLL_REST_FACTOR = 9;

/** One attempt to follow the directory, over one connection. */
export interface Attempt {
  readonly connection: LdapConnection;
  readonly signal: AbortSignal;
  readonly onUpToDate: OnUpToDate;
}

/** Follows a server over one connection, in the best mode that it offers. */
export class ServerFollower {
  constructor(
    private readonly source: LdapSourceConfig,
    private readonly dependencies: FollowDependencies,
    private readonly wholeReading: WholeReading,
    private readonly behind: BehindWatch,
  ) {}

  /** Follows the server until another mode has to be chosen, everything has to be read, or a plan was held. */
  async follow(attempt: Attempt): Promise<void> {
    const { mode, reasons, mayImprove } = await this.chooseMode(attempt);
    const { reporter } = this.dependencies;
    if (mode.kind === 'pushed') {
      try {
        await this.withPendingChanges(attempt, (pendingChanges) => this.listen(pendingChanges, attempt));
      } catch (error) {
        if (!(error instanceof ContentSyncRefusedError)) throw error;
        await this.poll(attempt, [error.message], true);
      }
    } else if (mode.kind === 'counted') {
      const { changed } = mode.numbers.counter;
      reporter.reportMethod(
        `The directory server numbers its changes (${changed}): it is asked for the latest number every second. ${reasons.join('. ')}`,
      );
      await this.withPendingChanges(attempt, (pendingChanges) =>
        this.count(mode.numbers, pendingChanges, attempt),
      );
    } else await this.poll(attempt, reasons, mayImprove);
  }

  /** Waits until an operator has decided about the held plan, or the plan has to be checked again. */
  async awaitDecision(
    signal: AbortSignal,
    longest = this.dependencies.config.syncSeconds * 1000,
  ): Promise<void> {
    const { state } = this.dependencies;
    const latest = performance.now() + longest;
    for (;;) {
      await sleep(DECISION_INTERVAL_MS, undefined, { signal });
      if ((await state.get()).state !== SyncState.BLOCKED || performance.now() > latest) return;
    }
  }

  private chooseMode({ connection, signal }: Attempt): Promise<ChosenMode> {
    return chooseMode(this.dependencies.directory, connection, signal);
  }

  private async withPendingChanges(
    { connection, signal }: Attempt,
    follow: (pendingChanges: PendingChanges) => Promise<void>,
  ): Promise<void> {
    const whenBehind = () => (this.behind.isOver ? 'hold' : 'fail');
    const pendingChanges = new PendingChanges(this.dependencies, connection, signal, whenBehind);
    try {
      await follow(pendingChanges);
    } catch (error) {
      if (!(error instanceof WholeReadingNeededError)) throw error;
      this.wholeReading.require(error.found);
    } finally {
      await pendingChanges.close();
    }
  }

  /** Follows by content synchronization. Returns when a plan is held, or everything has to be read. */
  private async listen(
    pendingChanges: PendingChanges,
    { connection, signal, onUpToDate }: Attempt,
  ): Promise<void> {
    const { state, config } = this.dependencies;
    const before = await state.get();
    const from = this.wholeReading.isNeeded ? null : positionOf(before, config, 'cookies');
    const pushedChanges = new PushedChanges(this.dependencies, connection, pendingChanges);
    try {
      const run = (source: DirectorySource) => this.readWhole(source, pendingChanges, signal);
      await pushedChanges.follow(before, from, signal, { run, onUpToDate });
    } catch (error) {
      if (!this.hasToReadWhole(error, before)) throw error;
      this.wholeReading.require(null);
      return;
    }
    await this.awaitDecision(signal);
  }

  /** Whether the server cannot continue from the mirror's position, or has been behind for too long. */
  private hasToReadWhole(error: unknown, before: MirrorStatus): boolean {
    if (error instanceof RefreshRequiredError) return true;
    // The server does not publish its state; only its cookies have shown that it is behind.
    if (!(error instanceof ServerBehindError)) return false;
    return this.behind.next('', before.state === SyncState.BLOCKED) === 'hold';
  }

  /** Follows by the numbers of changes. Returns when a plan is held. */
  private async count(
    numbers: ChangeNumbers,
    pendingChanges: PendingChanges,
    { connection, signal, onUpToDate }: Attempt,
  ): Promise<void> {
    const { config, state } = this.dependencies;
    const counted = new CountedChanges(this.dependencies, connection, numbers, pendingChanges);
    const suffixes = Object.keys((await numbers.read())?.latest ?? {});
    const { refused } = this.dependencies.directory;
    const notification = new ChangeNotification(connection, suffixes, numbers.counter.notification, refused);
    try {
      for (;;) {
        const before = await state.get();
        const position = this.wholeReading.isNeeded ? null : positionOf(before, config, 'count');
        const outcome =
          (position === null ? null : await counted.take(before, position)) ??
          (await this.readWhole(this.sourceOn(connection), pendingChanges, signal));
        onUpToDate(outcome);
        if (outcome.kind === 'blocked') break;
        // Without a position, everything is read each time.
        const isFollowed = position !== null || positionOf(await state.get(), config, 'count') !== null;
        await notification.wait(isFollowed ? COUNT_INTERVAL_MS : config.syncSeconds * 1000, signal);
      }
    } finally {
      notification.close();
    }
    await this.awaitDecision(signal);
  }

  /** Follows by polling: reads what has changed since the last poll, and which entries still exist. */
  private async poll(attempt: Attempt, reasons: readonly string[], mayImprove: boolean): Promise<void> {
    const { reporter, config } = this.dependencies;
    reporter.reportMethod(
      `The directory server does not push changes: it is polled every ${config.syncSeconds} seconds. ${reasons.join('. ')}`,
    );
    const latest = mayImprove ? performance.now() + MODE_RETRY_MS : Infinity;
    await this.withPendingChanges(attempt, (pendingChanges) => this.ask(pendingChanges, attempt, latest));
  }

  private async ask(pendingChanges: PendingChanges, attempt: Attempt, latest: number): Promise<void> {
    const { config, state, directory } = this.dependencies;
    const { connection, signal, onUpToDate } = attempt;
    const polled = new PolledChanges(this.dependencies, connection, pendingChanges);
    for (let isLater = false; performance.now() < latest; isLater = true) {
      const begun = performance.now();
      const before = await state.get();
      const position = positionOf(before, config, directory.isHashed ? 'hash' : 'look');
      const isWhole = position === null || this.wholeReading.isNeeded;
      const outcome = isWhole
        ? await this.readWhole(this.sourceOn(connection), pendingChanges, signal)
        : await polled.take(before, position, isLater);
      onUpToDate(outcome);
      const rest = isWhole || directory.isHashed ? (performance.now() - begun) * WHOLE_POLL_REST_FACTOR : 0;
      const pause = Math.max(config.syncSeconds * 1000, rest);
      if (outcome.kind === 'blocked') {
        await this.awaitDecision(signal, pause);
        return;
      }
      await sleep(pause, undefined, { signal });
    }
  }

  private sourceOn(connection: LdapConnection): LdapSource {
    return new LdapSource(this.dependencies.config, this.source, connection);
  }

  private readWhole(
    source: DirectorySource,
    pendingChanges: PendingChanges,
    signal: AbortSignal,
  ): Promise<SyncOutcome> {
    return this.wholeReading.take(source, pendingChanges, signal, this.behind.isOver ? 'hold' : 'fail');
  }
}
