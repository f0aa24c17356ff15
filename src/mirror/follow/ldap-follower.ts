import { setTimeout as sleep } from 'node:timers/promises';
import { backOff } from '../../common/back-off.js';
import type { LdapSourceConfig } from '../../config/settings/directory.js';
import type { LdapConnection } from '../../ldap/client/ldap-connection.js';
import { ContentSyncRefusedError, RefreshRequiredError } from '../../ldap/sync/content-sync-error.js';
import { requireCoverage } from '../../sources/ldap/coverage.js';
import { LdapSource } from '../../sources/ldap/ldap-source.js';
import { passwordRisk } from '../../sources/check/password-risk.js';
import {
  compareStates,
  keyOfState,
  parsePosition,
  type ServerState,
  stateOf,
} from '../../sources/ldap/position.js';
import type { DirectorySource } from '../../sources/source.js';
import type { Choice } from '../../sources/ldap/ldap-servers.js';
import { OtherServerError, ServerBehindError } from '../../sources/source.error.js';
import { requireKind } from '../../sources/ldap/recognize.js';
import { AskedChanges } from './polled-changes.js';
import { BehindWatch } from './behind-watch.js';
import type { FollowDependencies } from './follow-dependencies.js';
import type { Follower } from './follower.js';
import { PendingChanges, WholeReadingNeededError } from './pending-changes.js';
import { type MirrorStatus, positionOf, SyncState } from '../status/mirror-state.js';
import type { SyncOutcome } from '../sync/outcome.js';
import { forgetReconciliation } from '../reconcile/reconciliations.js';
import { isOfSource } from '../sync/synchronizer.js';
import { type IsWell, PushedChanges } from './pushed-changes.js';
import { WholeReading } from './whole-reading.js';

/** Milliseconds after which a server that refused content synchronization is asked again. */
const RETRY_INTERVAL = 60_000;
/** Maximum number of milliseconds between two checks whether a server that is behind has caught up. */
const BEHIND_INTERVAL = 2000;
/** Milliseconds between two checks whether an operator has decided about a held plan. */
const DECISION_INTERVAL = 2000;

/** One attempt to follow the directory, over one connection. */
interface Attempt {
  readonly connection: LdapConnection;
  readonly signal: AbortSignal;
  readonly isWell: IsWell;
}

/** Keeps the mirror synchronized with an LDAP server: by content synchronization if possible, else by polling. */
export class LdapFollower implements Follower {
  private readonly behind: BehindWatch;
  private readonly wholeReading: WholeReading;

  constructor(
    private readonly source: LdapSourceConfig,
    private readonly dependencies: FollowDependencies,
  ) {
    this.behind = new BehindWatch(dependencies.config.behindSeconds * 1000);
    this.wholeReading = new WholeReading(dependencies);
  }

  async follow(signal: AbortSignal, settled: () => void): Promise<void> {
    const risk = passwordRisk(this.source);
    if (risk !== null) this.dependencies.reporter.reportRisk(risk);
    let failures = 0;
    const isWell: IsWell = ({ kind }) => {
      failures = 0;
      if (kind !== 'blocked') this.behind.clear();
      settled();
    };
    for (;;) {
      const error = await this.followOnce(signal, isWell).catch((thrown: unknown) => thrown);
      if (signal.aborted) break;
      if (error === undefined) continue;
      failures++;
      if (error instanceof ServerBehindError) this.behind.begin();
      if (error instanceof OtherServerError) this.dependencies.onOtherServer(error.kind);
      await this.reportError(error);
      settled();
      const pause = backOff(failures, Math.random());
      const longest = error instanceof ServerBehindError ? BEHIND_INTERVAL : pause;
      await sleep(Math.min(pause, longest), undefined, { signal }).catch(() => undefined);
    }
    settled();
  }

  /** Follows the directory until something ends it. Without an error, following only has to start again. */
  private async followOnce(signal: AbortSignal, isWell: IsWell): Promise<void> {
    const { directory, state } = this.dependencies;
    const before = await state.get();
    const known = stateOf(parsePosition(before.position));
    const choice = await directory.servers.choose(known, directory.searches, signal);
    const { connection } = choice;
    // Without this, a server that does not respond would delay the shutdown until the response times out.
    const close = () => {
      connection.close();
    };
    signal.addEventListener('abort', close);
    try {
      signal.throwIfAborted();
      await requireKind(this.dependencies.config, connection);
      await this.noteServer(choice, known);
      const attempt = { connection, signal, isWell };
      if (choice.behind === null) await this.followServer(attempt);
      else await this.faceServerBehind(choice, before, attempt);
    } finally {
      signal.removeEventListener('abort', close);
      connection.close();
    }
  }

  /**
   * Makes a comparison of all contents due if the server went back or has different server IDs than before,
   * because any entry may then differ from the mirror. It is stored before the position advances, so it
   * survives a failure or a restart.
   */
  private async noteServer({ behind, state }: Choice, known: ServerState): Promise<void> {
    const isOther = behind !== null || compareStates(known, state).added.length > 0;
    if (isOther) await forgetReconciliation(this.dependencies.manager, 'contents');
  }

  private async followServer(attempt: Attempt): Promise<void> {
    const { directory, config, reporter } = this.dependencies;
    const { connection, signal } = attempt;
    let refusal = 'It does not offer content synchronization (RFC 4533), or hides the entryUUIDs';
    let latest = Infinity;
    if (await directory.supportsContentSync(connection)) {
      try {
        await requireCoverage(directory, connection, signal);
        await this.withPendingChanges(attempt, (pendingChanges) => this.listen(pendingChanges, attempt));
        return;
      } catch (error) {
        if (!(error instanceof ContentSyncRefusedError)) throw error;
        refusal = error.message;
        latest = performance.now() + RETRY_INTERVAL;
      }
    }
    reporter.reportMethod(
      `The directory server does not push changes: it is polled every ${config.syncSeconds} seconds. ${refusal}`,
    );
    await this.withPendingChanges(attempt, (pendingChanges) => this.ask(pendingChanges, attempt, latest));
  }

  private async withPendingChanges(
    { connection, signal }: Attempt,
    follow: (pendingChanges: PendingChanges) => Promise<void>,
  ): Promise<void> {
    const pendingChanges = new PendingChanges(this.dependencies, connection, signal);
    try {
      await follow(pendingChanges);
    } catch (error) {
      if (!(error instanceof WholeReadingNeededError)) throw error;
      this.wholeReading.require(error.found);
    } finally {
      await pendingChanges.close();
    }
  }

  /**
   * Accepts a server that is behind if its contents equal the mirror. Otherwise waits for the server, and
   * finally asks an operator to decide.
   * @throws ServerBehindError while it waits
   */
  private async faceServerBehind(
    { behind, state }: Choice,
    before: MirrorStatus,
    { signal, isWell }: Attempt,
  ): Promise<void> {
    const step = this.behind.next(keyOfState(state), before.state === SyncState.BLOCKED);
    if (step === 'wait') throw new ServerBehindError(behind ?? '');
    if (step !== 'await') {
      const source = new LdapSource(this.dependencies.config, this.source);
      const outcome = await this.wholeReading.run(source, signal, step === 'hold' ? 'hold' : 'fail');
      if (outcome.kind === 'blocked') isWell(outcome);
      else if (step === 'compare') return;
    }
    await this.awaitDecision(signal);
  }

  /** Follows by content synchronization. Returns when a plan is held, or everything has to be read. */
  private async listen(
    pendingChanges: PendingChanges,
    { connection, signal, isWell }: Attempt,
  ): Promise<void> {
    const { state, config } = this.dependencies;
    const before = await state.get();
    const from = this.wholeReading.isNeeded ? null : positionOf(before, config, 'cookies');
    const pushedChanges = new PushedChanges(this.dependencies, connection, pendingChanges);
    try {
      const run = (source: DirectorySource) => this.readWhole(source, pendingChanges, signal);
      await pushedChanges.follow(before, from, signal, { run, isWell });
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

  /** Follows by polling: reads what has changed since the last poll, and which entries still exist. */
  private async ask(pendingChanges: PendingChanges, attempt: Attempt, latest: number): Promise<void> {
    const { config, state } = this.dependencies;
    const { connection, signal, isWell } = attempt;
    const asked = new AskedChanges(this.dependencies, connection, pendingChanges);
    for (let isLater = false; performance.now() < latest; isLater = true) {
      const before = await state.get();
      const position = positionOf(before, config, 'look');
      if (position === null || this.wholeReading.isNeeded) {
        await this.readWhole(new LdapSource(config, this.source), pendingChanges, signal);
      } else await asked.take(before, position, isLater);
      isWell({ kind: 'unchanged' });
      await sleep(config.syncSeconds * 1000, undefined, { signal });
    }
  }

  private readWhole(
    source: DirectorySource,
    pendingChanges: PendingChanges,
    signal: AbortSignal,
  ): Promise<SyncOutcome> {
    return this.wholeReading.take(source, pendingChanges, signal, this.behind.isOver ? 'hold' : 'fail');
  }

  /** Waits until an operator has decided about the held plan, or the plan has to be checked again. */
  private async awaitDecision(signal: AbortSignal): Promise<void> {
    const { config, state } = this.dependencies;
    const latest = performance.now() + config.syncSeconds * 1000;
    for (;;) {
      await sleep(DECISION_INTERVAL, undefined, { signal });
      if ((await state.get()).state !== SyncState.BLOCKED || performance.now() > latest) return;
    }
  }

  private async reportError(error: unknown): Promise<void> {
    const { reporter, state } = this.dependencies;
    if (!isOfSource(error)) {
      reporter.reportInterruption(error);
      return;
    }
    reporter.reportFailure(error.message);
    // The database may be unavailable too. The code that needs it reports that.
    await state.markFailing(error.message).catch(() => undefined);
  }
}
