import { Inject, Injectable, Logger } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import type { Config } from '../../config/config.js';
import { CONFIG } from '../../config/config.module.js';
import { readClock } from '../../database/statements/statement.js';
import { Revisions } from '../../database/revisions/revisions.js';
import { LdapError } from '../../ldap/client/ldap-error.js';
import { LdifError } from '../../ldap/ldif/ldif-error.js';
import { type Application, applyPlan, applyUnseen, OutdatedPlanError } from '../apply/apply.js';
import { inApplyingTransaction } from '../apply/transaction-watch.js';
import type { Delta } from '../../sources/delta.js';
import { checkPlan, findBehind } from './check-plan.js';
import { countLosses, type LossCounts, noteLosses } from '../plan/attribute-losses.js';
import { Leadership } from './leadership.js';
import { MirrorState, type MirrorStatus, SyncState } from '../status/mirror-state.js';
import { PictureStore } from '../apply/picture-store.js';
import type { Findings, SyncOutcome } from './outcome.js';
import { isEmpty, type Plan } from '../plan/plan.js';
import { identitiesIn, planDelta, planWhole } from '../plan/planning.js';
import { type Progress, readSnapshot } from '../map/read.js';
import { ReconciliationCounts } from '../reconcile/reconciliations.js';
import { pruneChanges } from '../apply/prune-changes.js';
import { Runs } from './runs.js';
import { type DirectorySource, fingerprintOf } from '../../sources/source.js';
import { ServerBehindError, SourceError } from '../../sources/source.error.js';

export interface RunOptions {
  /** Only plans, and changes nothing. */
  readonly dryRun?: boolean;
  /** The hash of a plan to apply although the deletion guard holds it. It must still be the current plan. */
  readonly confirm?: string;
  /** Reads the source even if its fingerprint is unchanged. */
  readonly force?: boolean;
  /** What happens to a plan of a server that lacks some of the mirrored changes. By default, it is held. */
  readonly whenBehind?: 'hold' | 'fail';
  /** Ends the run early and discards its results. */
  readonly signal?: AbortSignal;
  readonly progress?: Progress;
}

interface Advance {
  readonly delta: Delta;
  /** Every change made before this instant is in the delta. */
  readonly asOf: Date;
  readonly position: string | null;
  readonly signal: AbortSignal;
}

/** The part of an Application that describes the reading of the source. */
type Reading = Pick<Application, 'asOf' | 'fingerprint' | 'position' | 'covers' | 'signal'>;

const ATTEMPTS = 5;

/** Synchronizes the mirror with its source: reads, relates, plans, guards and applies a new revision. */
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

  /** Runs over the whole source. Errors of the source are an outcome; errors of the database are thrown. */
  run(source: DirectorySource, options: RunOptions = {}): Promise<SyncOutcome> {
    const attempt = (before: MirrorStatus) => this.runFrom(source, before, options);
    const fail = (error: unknown, before: MirrorStatus) => this.fail(error, before, options);
    return this.runs.watch('all', () => this.retry(attempt, fail));
  }

  /** Applies changes without reading the rest of the directory. Every error is thrown. */
  advance(advance: Advance): Promise<SyncOutcome> {
    const attempt = (before: MirrorStatus) => this.advanceFrom(before, advance);
    return this.runs.watch('changes', () => this.retry(attempt));
  }

  /** Another process may apply a revision first. A new attempt finds the remaining changes. */
  private async retry(
    attempt: (before: MirrorStatus) => Promise<SyncOutcome>,
    fail?: (error: unknown, before: MirrorStatus) => Promise<SyncOutcome>,
  ): Promise<SyncOutcome> {
    for (let count = 1; ; count++) {
      const before = await this.state.get();
      try {
        return await attempt(before);
      } catch (error) {
        if (error instanceof OutdatedPlanError && count < ATTEMPTS) continue;
        if (fail === undefined) throw error;
        return fail(error, before);
      }
    }
  }

  private async advanceFrom(
    before: MirrorStatus,
    { delta, asOf, position, signal }: Advance,
  ): Promise<SyncOutcome> {
    const { manager } = this.dataSource;
    const pictures = new PictureStore(this.dataSource);
    const { mapping } = this.config.directory;
    const snapshot = await readSnapshot(entriesOf(delta), mapping, pictures, signal);
    const plan = await planDelta(manager, snapshot, delta, mapping);
    const findings = { plan, quarantined: snapshot.quarantined, skipped: null };
    const covers = identitiesIn(delta);
    const fingerprint = fingerprintOf(this.config.directory);
    return this.conclude(findings, before, { asOf, fingerprint, position, covers, signal });
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
        const { changesDays } = this.config.directory;
        await this.transaction(options.signal, (manager) => pruneChanges(manager, changesDays));
        return { kind: 'unchanged' };
      }
      // An existing reason stays visible until its cause is known to be gone.
      if (before.reason === null) await this.state.markRunning();
    }
    const { signal = new AbortController().signal } = options;
    const pictures = await PictureStore.withAllKnown(this.dataSource);
    const { mapping } = this.config.directory;
    const snapshot = await readSnapshot(source.read(signal), mapping, pictures, signal, options.progress);
    options.progress?.({ stage: 'plan' });
    const { plan, skipped } = await planWhole(this.dataSource.manager, snapshot, mapping);
    const findings = { plan, quarantined: snapshot.quarantined, skipped };
    const reading = { asOf, fingerprint, position: source.position(), covers: null, signal };
    return this.conclude(findings, before, reading, options);
  }

  private async conclude(
    findings: Findings,
    before: MirrorStatus,
    reading: Reading,
    { dryRun, confirm, progress, whenBehind }: RunOptions = {},
  ): Promise<SyncOutcome> {
    const { plan } = findings;
    const { manager } = this.dataSource;
    const { directory } = this.config;
    const lost = await countLosses(manager, plan, directory.mapping);
    const behind = isEmpty(plan) ? null : findBehind(before, reading);
    if (behind !== null && whenBehind === 'fail') throw new ServerBehindError(behind);
    const heldBecause =
      behind === null
        ? await checkPlan(manager, plan, lost, { before, now: reading.asOf, directory })
        : `${behind}. It lags, or it was restored from a backup, and the mirror would lose newer changes`;
    if (dryRun === true) return { kind: 'planned', heldBecause, ...findings };
    if (confirm !== undefined && confirm !== plan.hash) return this.refuseConfirmation(plan, before);
    if (heldBecause !== null && confirm === undefined) {
      await this.state.markBlocked(heldBecause, plan.hash);
      return { kind: 'blocked', reason: heldBecause, ...findings };
    }
    progress?.({ stage: 'apply' });
    return this.apply(findings, lost, before, { ...reading, confirmed: heldBecause !== null });
  }

  private async refuseConfirmation(plan: Plan, before: MirrorStatus): Promise<SyncOutcome> {
    await this.state.restore(before);
    const reason = isEmpty(plan)
      ? 'There is nothing left to confirm: the mirror equals the directory'
      : `The plan is not the one to confirm: it is ${plan.hash} now`;
    return { kind: 'failed', reason, isFinal: true, isBehind: false };
  }

  private async apply(
    findings: Findings,
    lost: LossCounts,
    { revisionId: basedOn }: MirrorStatus,
    reading: Reading & Pick<Application, 'confirmed'>,
  ): Promise<SyncOutcome> {
    const { plan, quarantined } = findings;
    const { mapping, changesDays } = this.config.directory;
    const now = await readClock(this.dataSource.manager);
    const application: Application = { ...reading, plan, mapping, quarantined, basedOn, now, changesDays };
    if (isEmpty(plan) && basedOn !== null) {
      await this.transaction(reading.signal, (manager) => applyUnseen(manager, application));
      this.revisions.noteConfirmed();
      return { kind: 'unchanged' };
    }
    const { number: revision } = await this.revisions.change(() =>
      this.transaction(reading.signal, async (manager) => {
        const applied = await applyPlan(manager, application);
        await noteLosses(manager, applied.number, lost);
        return applied;
      }),
    );
    return { kind: 'applied', revision, ...findings };
  }

  private transaction<Result>(
    signal: AbortSignal | undefined,
    work: (manager: EntityManager) => Promise<Result>,
  ): Promise<Result> {
    return inApplyingTransaction(this, work, signal);
  }

  private async fail(error: unknown, before: MirrorStatus, options: RunOptions): Promise<SyncOutcome> {
    if (options.signal?.aborted === true) {
      // If this fails too, the next start finds an interrupted run and reads the source again.
      await this.state.restore(before).catch(() => undefined);
      return { kind: 'stopped' };
    }
    if (!isOfSource(error)) {
      // The database is probably unavailable, and cannot store this state either. Then the first error is the
      // relevant one.
      if (options.dryRun !== true) {
        await this.state.markFailing('The mirror cannot be written').catch(() => undefined);
      }
      throw error;
    }
    if (options.dryRun !== true) await this.state.markFailing(error.message);
    this.logger.debug(error.stack ?? error.message);
    return {
      kind: 'failed',
      reason: error.message,
      isFinal: error instanceof LdifError,
      isBehind: error instanceof ServerBehindError,
    };
  }
}

/** Whether an error concerns the source and not the mirror. */
export function isOfSource(error: unknown): error is Error {
  return (
    error instanceof LdifError ||
    error instanceof LdapError ||
    error instanceof SourceError ||
    error instanceof OutdatedPlanError
  );
}

function* entriesOf({ people, groups }: Delta) {
  for (const entry of people.values()) yield { kind: 'person', entry } as const;
  for (const entry of groups.values()) yield { kind: 'group', entry } as const;
}
