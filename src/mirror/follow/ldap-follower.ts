import { setTimeout as sleep } from 'node:timers/promises';
import type { DataSource } from 'typeorm';
import { backOff } from '../../common/back-off.js';
import type { DirectoryConfig, LdapSourceConfig } from '../../config/settings/directory.js';
import type { LdapConnection } from '../../ldap/client/ldap-connection.js';
import { ContentSyncRefusedError, RefreshRequiredError } from '../../ldap/sync/content-sync-error.js';
import { requireCoverage } from '../../sources/ldap/coverage.js';
import { LdapDirectory } from '../../sources/ldap/ldap-directory.js';
import { LdapSource } from '../../sources/ldap/ldap-source.js';
import { passwordRisk } from '../../sources/check/password-risk.js';
import {
  compareStates,
  parsePosition,
  type Position,
  type ServerState,
  stateOf,
} from '../../sources/ldap/position.js';
import { type DirectorySource, fingerprintOf } from '../../sources/source.js';
import type { Choice } from '../../sources/ldap/ldap-servers.js';
import { ServerBehindError, SourceError } from '../../sources/source.error.js';
import { AskedChanges } from './polled-changes.js';
import { BehindWatch } from './behind-watch.js';
import type { Follower } from './follower.js';
import { PendingChanges, WholeReadingNeededError } from './pending-changes.js';
import { type MirrorState, type MirrorStatus, SyncState } from '../status/mirror-state.js';
import type { SyncOutcome } from '../sync/outcome.js';
import { forgetReconciliation } from '../reconcile/reconciliations.js';
import type { RunReporter } from '../sync/run-reporter.js';
import type { ScanResult } from '../reconcile/scan.js';
import { StampedSource } from '../reconcile/stamped-source.js';
import { isOfSource, type Synchronizer } from '../sync/synchronizer.js';
import { type IsWell, PushedChanges } from './pushed-changes.js';

/** Milliseconds after which a server that refused content synchronization is asked again. */
const RETRY_INTERVAL = 60_000;
/** Maximum number of milliseconds between two checks whether a server that is behind has caught up. */
const BEHIND_INTERVAL = 2000;
/** Milliseconds between two checks whether an operator has decided about a held plan. */
const DECISION_INTERVAL = 2000;

/**
 * Keeps the mirror synchronized with an LDAP server: by content synchronization if the server supports it,
 * otherwise by polling.
 */
export class LdapFollower implements Follower {
  private readonly directory: LdapDirectory;
  private readonly behind: BehindWatch;
  /**
   * Whether the whole directory has to be read, because the server cannot continue from the position or too
   * much differs.
   */
  private readsWhole = false;
  /** The comparison that requires reading the whole directory, or null if no comparison does. */
  private found: ScanResult | null = null;

  constructor(
    private readonly config: DirectoryConfig,
    private readonly source: LdapSourceConfig,
    private readonly dataSource: DataSource,
    private readonly synchronizer: Synchronizer,
    private readonly state: MirrorState,
    private readonly reporter: RunReporter,
  ) {
    this.directory = new LdapDirectory(config, source);
    this.behind = new BehindWatch(config.behindSeconds * 1000);
  }

  async follow(signal: AbortSignal, settled: () => void): Promise<void> {
    const risk = passwordRisk(this.source);
    if (risk !== null) this.reporter.reportRisk(risk);
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
      await this.reportError(error);
      settled();
      const pause = backOff(failures, Math.random());
      const longest = error instanceof ServerBehindError ? BEHIND_INTERVAL : pause;
      await sleep(Math.min(pause, longest), undefined, { signal }).catch(() => undefined);
    }
    settled();
  }

  /**
   * Follows the directory over one connection until something ends it. Returns without an error if following
   * only has to start again.
   */
  private async followOnce(signal: AbortSignal, isWell: IsWell): Promise<void> {
    const before = await this.state.get();
    const known = stateOf(parsePosition(before.position));
    const choice = await this.directory.servers.choose(known, this.directory.searches, signal);
    const { connection } = choice;
    let refusal = 'It does not offer to (RFC 4533), or does not show who is who';
    let latest = Infinity;
    // Without this, a server that does not respond would delay the shutdown until the response times out.
    const close = () => {
      connection.close();
    };
    signal.addEventListener('abort', close);
    try {
      signal.throwIfAborted();
      await this.noteServer(choice, known);
      if (choice.behind !== null) {
        await this.faceServerBehind(choice, before, signal, isWell);
        return;
      }
      if (await this.directory.supportsContentSync(connection)) {
        try {
          await requireCoverage(this.directory, connection, signal);
          await this.withPendingChanges(connection, signal, (pendingChanges) =>
            this.listen(pendingChanges, connection, signal, isWell),
          );
          return;
        } catch (error) {
          if (!(error instanceof ContentSyncRefusedError)) throw error;
          refusal = error.message;
          latest = performance.now() + RETRY_INTERVAL;
        }
      }
      const { syncSeconds } = this.config;
      this.reporter.reportMethod(
        `The directory does not tell of changes: it is asked every ${syncSeconds} seconds. ${refusal}`,
      );
      await this.withPendingChanges(connection, signal, (pendingChanges) =>
        this.ask(pendingChanges, connection, signal, isWell, latest),
      );
    } finally {
      signal.removeEventListener('abort', close);
      connection.close();
    }
  }

  /**
   * Makes a comparison of all contents due if the server went back or has different server IDs than before,
   * because any entry may then differ from the mirror. This is stored in the database before the position
   * advances, so it survives a failure or a restart.
   */
  private async noteServer({ behind, state }: Choice, known: ServerState): Promise<void> {
    const isOther = behind !== null || compareStates(known, state).added.length > 0;
    if (isOther) await forgetReconciliation(this.dataSource.manager, 'contents');
  }

  /** Follows with a new PendingChanges, and ends its background work afterwards. */
  private async withPendingChanges(
    connection: LdapConnection,
    signal: AbortSignal,
    follow: (pendingChanges: PendingChanges) => Promise<void>,
  ): Promise<void> {
    const { config, directory, synchronizer, state, reporter } = this;
    const { manager } = this.dataSource;
    const dependencies = { config, directory, manager, synchronizer, state, reporter };
    const pendingChanges = new PendingChanges(dependencies, connection, signal);
    try {
      await follow(pendingChanges);
    } catch (error) {
      if (!(error instanceof WholeReadingNeededError)) throw error;
      this.readsWhole = true;
      this.found = error.found;
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
    signal: AbortSignal,
    isWell: IsWell,
  ): Promise<void> {
    const step = this.behind.next(keyOfState(state), before.state === SyncState.BLOCKED);
    if (step === 'wait') throw new ServerBehindError(behind ?? '');
    if (step !== 'await') {
      const source = new LdapSource(this.config, this.source);
      const outcome = await this.run(source, signal, step === 'hold' ? 'hold' : 'fail');
      if (outcome.kind === 'blocked') isWell(outcome);
      else if (step === 'compare') return;
    }
    await this.awaitDecision(signal);
  }

  /**
   * Follows by content synchronization: the server sends changes. Returns when a plan is held, or when the
   * whole directory has to be read.
   */
  private async listen(
    pendingChanges: PendingChanges,
    connection: LdapConnection,
    signal: AbortSignal,
    isWell: IsWell,
  ): Promise<void> {
    const { config, directory, reporter } = this;
    const { manager } = this.dataSource;
    const before = await this.state.get();
    const from = this.readsWhole ? null : this.positionOf(before, 'cookies');
    const pushedChanges = new PushedChanges(
      { config, directory, manager, reporter },
      connection,
      pendingChanges,
    );
    try {
      await pushedChanges.follow(before, from, signal, {
        run: (source) => this.runWhole(source, pendingChanges, signal),
        isWell,
      });
    } catch (error) {
      if (!this.hasToReadWhole(error, before)) throw error;
      this.readsWhole = true;
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
  private async ask(
    pendingChanges: PendingChanges,
    connection: LdapConnection,
    signal: AbortSignal,
    isWell: IsWell,
    latest: number,
  ): Promise<void> {
    const { config, directory, reporter } = this;
    const { manager } = this.dataSource;
    const asked = new AskedChanges({ config, directory, manager, reporter }, connection, pendingChanges);
    for (let isLater = false; performance.now() < latest; isLater = true) {
      const before = await this.state.get();
      const position = this.positionOf(before, 'look');
      if (position === null || this.readsWhole) {
        await this.runWhole(new LdapSource(config, this.source), pendingChanges, signal);
      } else await asked.take(before, position, isLater);
      isWell({ kind: 'unchanged' });
      await sleep(config.syncSeconds * 1000, undefined, { signal });
    }
  }

  /** Reads and applies the whole directory within a session. */
  private async runWhole(
    source: DirectorySource,
    pendingChanges: PendingChanges,
    signal: AbortSignal,
  ): Promise<SyncOutcome> {
    const begun = performance.now();
    const { uuid } = this.config.mapping.people;
    const stamped = new StampedSource(source, uuid, (entry) => this.directory.stampOf(entry));
    const outcome = await this.run(stamped, signal, this.behind.isOver ? 'hold' : 'fail');
    if (outcome.kind === 'blocked') return outcome;
    const { found } = this;
    this.readsWhole = false;
    this.found = null;
    const seconds = (performance.now() - begun) / 1000;
    await pendingChanges.noteWhole(outcome, { stamps: stamped.stamps, seconds, found });
    return outcome;
  }

  /** @throws SourceError if the directory cannot be read; ServerBehindError if the server is behind */
  private async run(
    source: DirectorySource,
    signal: AbortSignal,
    whenBehind: 'hold' | 'fail',
  ): Promise<SyncOutcome> {
    const outcome = await this.reporter.reportRun((progress) =>
      this.synchronizer.run(source, { force: true, signal, progress, whenBehind }),
    );
    if (outcome.kind === 'failed')
      throw outcome.isBehind ? new ServerBehindError(outcome.reason) : new SourceError(outcome.reason);
    return outcome;
  }

  /**
   * Waits until an operator has decided about the held plan, or until it is time to check whether the plan is
   * still current.
   */
  private async awaitDecision(signal: AbortSignal): Promise<void> {
    const latest = performance.now() + this.config.syncSeconds * 1000;
    for (;;) {
      await sleep(DECISION_INTERVAL, undefined, { signal });
      const { state } = await this.state.get();
      if (state !== SyncState.BLOCKED || performance.now() > latest) return;
    }
  }

  private positionOf<Kind extends Position['kind']>(
    { revision, fingerprint, position }: MirrorStatus,
    kind: Kind,
  ): Extract<Position, { kind: Kind }> | null {
    if (revision === null || fingerprint !== fingerprintOf(this.config)) return null;
    const parsed = parsePosition(position);
    return parsed?.kind === kind ? (parsed as Extract<Position, { kind: Kind }>) : null;
  }

  private async reportError(error: unknown): Promise<void> {
    if (!isOfSource(error)) {
      this.reporter.reportInterruption(error);
      return;
    }
    this.reporter.reportFailure(error.message);
    // The database may be unavailable too. The code that needs it reports that.
    await this.state.markFailing(error.message).catch(() => undefined);
  }
}

/** Returns a key for the state of a server. */
function keyOfState({ person, group }: ServerState): string {
  return [...(person?.values() ?? []), '', ...(group?.values() ?? [])].join(' ');
}
