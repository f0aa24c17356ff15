import { Inject, Injectable, Logger } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import type { Config } from '../../config/config.js';
import { CONFIG } from '../../config/config.module.js';
import { readClock } from '../../database/statements/statement.js';
import { Revisions } from '../../database/revisions/revisions.js';
import type { Application } from '../apply/application.js';
import { applyPlan, applyUnseen } from '../apply/apply.js';
import { OutdatedPlanError } from '../apply/outdated-plan.error.js';
import { failureOf, isOfSource } from './source-failure.js';
import { inApplyingTransaction, type TransactionSource } from '../apply/transaction-watch.js';
import { entriesIn } from '../../sources/delta.js';
import { findReasonToHold } from './check-plan.js';
import { noteLosses, withoutChangedRules } from '../plan/attribute-losses.js';
import { Leadership } from './leadership.js';
import { MirrorState, type MirrorStatus, SyncState } from '../status/mirror-state.js';
import { PictureStore } from '../apply/picture-store.js';
import type { SyncOutcome } from './outcome.js';
import { changesNothing } from '../plan/plan.js';
import { type Planned, plannedInMemory, planSource, type Reading } from './planned.js';
import { BulkSession } from '../bulk/bulk-session.js';
import { identitiesIn, planDelta } from '../plan/planning.js';
import { readSnapshot } from './read-entries.js';
import { ReconciliationCounts } from '../reconcile/reconciliations.js';
import { pruneChanges } from '../apply/prune-changes.js';
import type { Advance, RunOptions } from './run-options.js';
import { Runs } from './runs.js';
import { type DirectorySource, fingerprintOf } from '../../sources/source.js';
import { withNeeded } from '../../sources/ldap/known-numbers.js';
import { isSamePosition } from '../../sources/ldap/position.js';
import { PositionReplacedError } from '../follow/position-replaced.error.js';

const ATTEMPTS = 5;

/** Synchronizes the mirror with its source: reads, maps, relates, plans, guards and applies a new revision. */
@Injectable()
export class Synchronizer {
  readonly runs = new Runs();
  readonly reconciliations = new ReconciliationCounts();
  private readonly logger = new Logger('Mirror');

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    readonly dataSource: DataSource,
    private readonly state: MirrorState,
    private readonly revisions: Revisions,
    readonly leadership: Leadership,
  ) {}

  /**
   * Runs over the whole source. Errors of the source are an outcome; errors of the database are thrown.
   * @throws OutdatedPlanError if another process has applied a revision, and the source cannot be read a second time
   */
  run(source: DirectorySource, options: RunOptions = {}): Promise<SyncOutcome> {
    const attempt = (before: MirrorStatus) => this.runFrom(source, before, options);
    const fail = (error: unknown, before: MirrorStatus) => {
      if (source.isReadOnce && error instanceof OutdatedPlanError) throw error;
      return this.fail(error, before, options);
    };
    const attempts = source.isReadOnce ? 1 : ATTEMPTS;
    return this.runs.watch('all', () => this.retry(attempt, attempts, fail));
  }

  /**
   * Applies changes without reading the rest of the directory. Every error is thrown.
   * @throws OutdatedPlanError if the mirror is no longer as in `before`: the changes continue a position that it had then. Also if it
   * was written with another model
   */
  advance(advance: Advance): Promise<SyncOutcome> {
    const { before } = advance;
    const attempt = (current: MirrorStatus) => this.advanceFrom(current, advance);
    return this.runs.watch('changes', () =>
      before === undefined ? this.retry(attempt, ATTEMPTS) : attempt(before),
    );
  }

  /** Deletes expired changes, and follows the clock of the database, by which counts of the access log expire as well. */
  prune(signal?: AbortSignal): Promise<void> {
    const { changesDays } = this.config.directory;
    return this.transaction(signal, (manager) => pruneChanges(manager, changesDays));
  }

  /** Another process may apply a revision first. A new attempt finds the remaining changes. */
  private async retry(
    attempt: (before: MirrorStatus) => Promise<SyncOutcome>,
    attempts: number,
    fail?: (error: unknown, before: MirrorStatus) => Promise<SyncOutcome>,
  ): Promise<SyncOutcome> {
    for (let count = 1; ; count++) {
      const before = await this.state.get();
      try {
        return await attempt(before);
      } catch (error) {
        if (error instanceof OutdatedPlanError && count < attempts) continue;
        if (fail === undefined) throw error;
        return fail(error, before);
      }
    }
  }

  private async advanceFrom(before: MirrorStatus, given: Advance): Promise<SyncOutcome> {
    const model = fingerprintOf(this.config.directory);
    const { delta, asOf, position, signal, stamps, fingerprint = model } = given;
    // A `sync` with another model keeps the position. Its rows would stay, and count as written with this model.
    if (before.fingerprint?.endsWith(model) !== true) throw new OutdatedPlanError();
    // As after a restore of the database: changes between the two positions would be missing.
    if (given.from !== undefined && !isSamePosition(before.position, given.from))
      throw new PositionReplacedError();
    const { manager } = this.dataSource;
    const pictures = new PictureStore(this.dataSource);
    const { mapping } = this.config.directory;
    const snapshot = await readSnapshot(entriesIn(delta), mapping, pictures, signal);
    const plan = await planDelta(manager, snapshot, delta, mapping);
    const left = { quarantined: snapshot.quarantined, skipped: null };
    const planned = await plannedInMemory(manager, plan, mapping, left);
    const covers = identitiesIn(delta);
    const reading = { asOf, fingerprint, position, covers, signal, ...(stamps && { stamps }) };
    return this.conclude(planned, before, reading, given);
  }

  private async runFrom(
    source: DirectorySource,
    before: MirrorStatus,
    options: RunOptions,
  ): Promise<SyncOutcome> {
    // The time must be read before the source.
    const asOf = await readClock(this.dataSource.manager);
    const fingerprint = await source.fingerprint();
    const looksUnchanged = fingerprint === before.fingerprint && before.state === SyncState.IDLE;
    if (options.dryRun !== true) {
      if (looksUnchanged && options.force !== true) {
        await this.state.confirmUnchanged(asOf);
        // Expired changes are deleted even if the directory does not change.
        await this.prune(options.signal);
        return { kind: 'unchanged' };
      }
      // An existing reason stays visible until its cause is known to be gone.
      if (before.reason === null) await this.state.markRunning();
    }
    const { signal = new AbortController().signal } = options;
    const { mapping } = this.config.directory;
    // A dry run reports every change, and keeps all of them in memory.
    const session = options.dryRun === true ? null : new BulkSession(this.dataSource);
    try {
      const isFirst = before.revision === null;
      const planned = await planSource(this.dataSource, source, session, {
        ...options,
        mapping,
        model: fingerprintOf(this.config.directory),
        isFirst,
        signal,
      });
      const reading = { asOf, fingerprint, position: source.position(), covers: null, signal };
      return await this.conclude(planned, before, reading, options);
    } finally {
      await session?.close();
    }
  }

  private async conclude(
    given: Planned,
    before: MirrorStatus,
    reading: Reading,
    { dryRun, confirm, progress, whenBehind }: RunOptions = {},
  ): Promise<SyncOutcome> {
    const lost = withoutChangedRules(given.lost, before.fingerprint, reading.fingerprint);
    const planned = { ...given, lost };
    const { findings } = planned;
    const { directory } = this.config;
    const held = { before, reading, directory, whenBehind };
    const heldBecause = await findReasonToHold(this.dataSource.manager, planned, held);
    const { plan } = findings;
    if (dryRun === true && plan !== null) return { kind: 'planned', heldBecause, ...findings, plan };
    if (confirm !== undefined && confirm !== (await planned.readHash()))
      return this.refuseConfirmation(planned, before);
    if (heldBecause !== null && confirm === undefined) {
      const hash = await planned.readHash();
      await this.state.markBlocked(heldBecause, hash);
      return { kind: 'blocked', reason: heldBecause, ...findings, hash };
    }
    progress?.({ stage: 'apply' });
    return this.apply(planned, before, { ...reading, confirmed: heldBecause !== null });
  }

  private async refuseConfirmation(planned: Planned, before: MirrorStatus): Promise<SyncOutcome> {
    await this.state.restore(before);
    const reason = changesNothing(planned.findings.summary)
      ? 'There is nothing left to confirm: the mirror equals the directory'
      : `The plan is not the one to confirm: it is ${await planned.readHash()} now`;
    return { kind: 'failed', reason, isFinal: true, isBehind: false };
  }

  private async apply(
    { findings, lost, readContent, session }: Planned,
    { revisionId: basedOn, position: known }: MirrorStatus,
    reading: Reading & Pick<Application, 'confirmed'>,
  ): Promise<SyncOutcome> {
    const { quarantined, summary } = findings;
    const { mapping, changesDays } = this.config.directory;
    const content = await readContent();
    const application: Application = {
      ...{ ...reading, ...content, summary, mapping, quarantined, basedOn, changesDays },
    };
    if (changesNothing(summary) && basedOn !== null) {
      const unchanged = { ...application, position: withNeeded(known, reading.position) };
      await this.transaction(reading.signal, (manager) => applyUnseen(manager, unchanged), session);
      this.revisions.noteConfirmed();
      return { kind: 'unchanged' };
    }
    const apply = async (manager: EntityManager) => {
      const applied = await applyPlan(manager, application);
      await noteLosses(manager, applied.number, lost);
      return applied;
    };
    const { number: revision } = await this.revisions.change(() =>
      this.transaction(reading.signal, apply, session),
    );
    return { kind: 'applied', revision, ...findings };
  }

  private transaction<Result>(
    signal: AbortSignal | undefined,
    work: (manager: EntityManager) => Promise<Result>,
    session: TransactionSource | null = null,
  ): Promise<Result> {
    const { dataSource, leadership } = this;
    return inApplyingTransaction({ dataSource: session ?? dataSource, leadership }, work, signal);
  }

  private async fail(error: unknown, before: MirrorStatus, options: RunOptions): Promise<SyncOutcome> {
    if (options.signal?.aborted === true) {
      // If this fails too, the next start finds an interrupted run and reads the source again.
      await this.state.restore(before).catch(() => undefined);
      return { kind: 'stopped' };
    }
    if (!isOfSource(error)) {
      // The database is probably unavailable, and cannot store this state either: this error is the relevant one.
      if (options.dryRun !== true) {
        await this.state.markFailing('The mirror cannot be written').catch(() => undefined);
      }
      throw error;
    }
    if (options.dryRun !== true) await this.state.markFailing(error.message);
    this.logger.debug(error.stack ?? error.message);
    return failureOf(error);
  }
}
