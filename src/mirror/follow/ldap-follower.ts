import { setTimeout as sleep } from 'node:timers/promises';
import { backOff } from '../../common/back-off.js';
import type { LdapSourceConfig } from '../../config/settings/directory.js';
import { LockingRejectionError } from '../../ldap/client/bind-error.js';
import {
  LdapClosedError,
  LdapConnectError,
  LdapError,
  LdapTimeoutError,
} from '../../ldap/client/ldap-error.js';
import { readPassword, waitForPassword } from '../../sources/ldap/password-file.js';
import { chooseServer } from '../../sources/ldap/follow-mode.js';
import { LdapSource } from '../../sources/ldap/ldap-source.js';
import { passwordRisk } from '../../sources/check/password-risk.js';
import {
  compareStates,
  keyOfState,
  parsePosition,
  type ServerState,
  stateOf,
} from '../../sources/ldap/position.js';
import type { Choice } from '../../sources/ldap/ldap-servers.js';
import { OtherServerError, ServerBehindError } from '../../sources/source.error.js';
import { requireKind } from '../../sources/ldap/recognize.js';
import { OutdatedPlanError } from '../apply/outdated-plan.error.js';
import { BehindWatch } from './behind-watch.js';
import type { FollowDependencies } from './follow-dependencies.js';
import type { Follower } from './follower.js';
import { type MirrorStatus, SyncState } from '../status/mirror-state.js';
import { forgetReconciliation } from '../reconcile/reconciliations.js';
import { isOfSource } from '../sync/source-failure.js';
import type { OnUpToDate } from './pushed-changes.js';
import { type Attempt, ServerFollower } from './server-follower.js';
import { WholeReading } from './whole-reading.js';

/** Maximum number of milliseconds between two checks whether a server that is behind has caught up. */
const LONGEST_LAG_PAUSE_MS = 2000;
/**
 * Milliseconds after which a rejected password is used again, the first time and later. A usual domain counts failures until none has
 * occurred for 30 minutes, and locks the account after a few.
 */
const REJECTED_INTERVAL_MS = 600_000;
const LONG_REJECTED_INTERVAL_MS = 2_100_000;

/** Errors of a server that cannot be reached. */
const AWAY = [LdapClosedError, LdapConnectError, LdapTimeoutError];

/** Keeps the mirror synchronized with an LDAP server, in the best mode that the server offers. */
export class LdapFollower implements Follower {
  private readonly behind: BehindWatch;
  private readonly wholeReading: WholeReading;
  private readonly server: ServerFollower;

  constructor(
    private readonly source: LdapSourceConfig,
    private readonly dependencies: FollowDependencies,
  ) {
    this.behind = new BehindWatch(dependencies.config.behindSeconds * 1000);
    this.wholeReading = new WholeReading(dependencies);
    this.server = new ServerFollower(source, dependencies, this.wholeReading, this.behind);
  }

  async follow(signal: AbortSignal, settled: () => void): Promise<void> {
    const risk = passwordRisk(this.source);
    if (risk !== null) this.dependencies.reporter.reportRisk(risk);
    let failures = 0;
    const onUpToDate: OnUpToDate = (outcome) => {
      failures = 0;
      void this.dependencies.reporter.reportUpToDate(outcome);
      if (outcome.kind !== 'blocked') this.behind.clear();
      settled();
    };
    for (;;) {
      const password = await readPassword(this.source);
      const error = await this.followOnce(signal, onUpToDate).catch((thrown: unknown) => thrown);
      if (signal.aborted) break;
      // Another process has applied a revision: the directory is followed from there.
      if (error === undefined || error instanceof OutdatedPlanError) continue;
      failures++;
      if (error instanceof ServerBehindError) this.behind.begin();
      if (error instanceof OtherServerError) this.dependencies.onOtherServer(error.kind);
      await this.reportError(error);
      settled();
      await this.pauseAfter(error, { failures, password }, signal);
    }
    settled();
  }

  /** Waits before the next attempt. Many attempts with a rejected password would lock the account. */
  private async pauseAfter(
    error: unknown,
    { failures, password }: { failures: number; password: string | undefined },
    signal: AbortSignal,
  ): Promise<void> {
    const rejection = error instanceof LdapError && error.cause !== undefined ? error.cause : error;
    if (rejection instanceof LockingRejectionError) {
      const longest = failures === 1 ? REJECTED_INTERVAL_MS : LONG_REJECTED_INTERVAL_MS;
      await waitForPassword(this.source, password, longest, signal);
      return;
    }
    const pause = backOff(failures, Math.random());
    const longest = error instanceof ServerBehindError ? LONGEST_LAG_PAUSE_MS : pause;
    await sleep(Math.min(pause, longest), undefined, { signal }).catch(() => undefined);
  }

  /** Follows the directory until something ends it. Without an error, following only has to start again. */
  private async followOnce(signal: AbortSignal, onUpToDate: OnUpToDate): Promise<void> {
    const { directory, state } = this.dependencies;
    const before = await state.get();
    const position = parsePosition(before.position);
    const choice = await chooseServer(directory, position, signal);
    const { connection } = choice;
    // Without this, a server that does not respond would delay the shutdown until the response times out.
    const close = () => {
      connection.close();
    };
    signal.addEventListener('abort', close);
    try {
      signal.throwIfAborted();
      await requireKind(this.dependencies.config, connection);
      await this.noteServer(choice, stateOf(position));
      const attempt = { connection, signal, onUpToDate };
      if (choice.behind === null) await this.server.follow(attempt);
      else await this.handleLaggingServer(choice, before, attempt);
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

  /**
   * Accepts a server that is behind if its contents equal the mirror. Otherwise waits for the server, and
   * finally asks an operator to decide.
   * @throws ServerBehindError while it waits
   */
  private async handleLaggingServer(
    { behind, state }: Choice,
    before: MirrorStatus,
    { connection, signal, onUpToDate }: Attempt,
  ): Promise<void> {
    const step = this.behind.next(keyOfState(state), before.state === SyncState.BLOCKED);
    if (step === 'wait') throw new ServerBehindError(behind ?? '');
    if (step !== 'await') {
      const source = new LdapSource(this.dependencies.config, this.source, connection);
      const outcome = await this.wholeReading.run(source, signal, step === 'hold' ? 'hold' : 'fail');
      if (outcome.kind === 'blocked') onUpToDate(outcome);
      else if (step === 'compare') return;
    }
    await this.server.awaitDecision(signal);
  }

  private async reportError(error: unknown): Promise<void> {
    const { reporter, state } = this.dependencies;
    if (!isOfSource(error)) {
      reporter.reportInterruption(error);
      return;
    }
    const isAway = [error, error.cause].some((each) => AWAY.some((type) => each instanceof type));
    reporter.reportFailure(error.message, isAway);
    // The database may be unavailable too. The code that needs it reports that.
    await state.markFailing(error.message).catch(() => undefined);
  }
}
