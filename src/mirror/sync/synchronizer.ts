import { Inject, Injectable, Logger } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import type { Config } from '../../config/config.js';
import { CONFIG } from '../../config/config.module.js';
import { readClock } from '../../database/statements/statement.js';
import { Revisions } from '../../database/revisions/revisions.js';
import { LdapError } from '../../ldap/client/ldap-error.js';
import { LdifError } from '../../ldap/ldif/ldif-error.js';
import { type Application, applyPlan, applyUnseen, OutdatedPlanError } from '../apply/apply.js';
import { inApplyingTransaction } from '../apply/applying-transaction.js';
import type { Delta } from '../../sources/delta.js';
import { deletesAnything, guardPlan } from '../plan/deletion-guard.js';
import {
  countLosses,
  describeLosses,
  lackingInPlan,
  type LossCounts,
  noteLosses,
} from '../plan/attribute-losses.js';
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
import {
  describeBehind,
  describeHidden,
  parsePosition,
  reachedOf,
  stateOf,
} from '../../sources/ldap/position.js';
import { type DirectorySource, fingerprintOf } from '../../sources/source.js';
import { ServerBehindError, SourceError } from '../../sources/source.error.js';
import { countRecentlyDeleted, countStored } from '../plan/stored.js';

export interface RunOptions {
  /** Only plans, and changes nothing. */
  readonly dryRun?: boolean;
  /** The hash of a plan to apply although the deletion guard holds it. It must still be the current plan. */
  readonly confirm?: string;
  /** Reads the source even if its fingerprint is unchanged. */
  readonly force?: boolean;
  /**
   * What happens to a plan that is not empty, from a server that lacks some of the mirrored changes. The
   * mirror never goes back without an operator. By default, the plan is held.
   */
  readonly whenBehind?: 'hold' | 'fail';
  /** Ends the run early and discards its results. */
  readonly signal?: AbortSignal;
  readonly progress?: Progress;
}

/** A set of changes and the data that belongs to it. */
export interface Advance {
  readonly delta: Delta;
  /** Every change made before this instant is in the delta. */
  readonly asOf: Date;
  /** The position from which the source can be followed afterwards. */
  readonly position: string | null;
  readonly signal: AbortSignal;
}

/** The part of an Application that describes the reading of the source. */
type Reading = Pick<Application, 'asOf' | 'fingerprint' | 'position' | 'covers' | 'signal'>;

/** Maximum number of attempts of a run. One fails if another process applies a revision at the same time. */
const ATTEMPTS = 5;

/**
 * Synchronizes the mirror with its source: reads, relates, plans, guards and applies a new revision
 * (docs/architecture.md).
 */
@Injectable()
export class Synchronizer {
  readonly runs = new Runs();
  readonly reconciliations = new ReconciliationCounts();
  private readonly logger = new Logger('Mirror');

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    private readonly dataSource: DataSource,
    private readonly state: MirrorState,
    private readonly revisions: Revisions,
    private readonly leadership: Leadership,
  ) {}

  /** Runs over the whole source. Errors of the source are an outcome; errors of the database are thrown. */
  run(source: DirectorySource, options: RunOptions = {}): Promise<SyncOutcome> {
    return this.runs.watch('all', () => this.runWithRetry(source, options));
  }

  /** Applies changes without reading the rest of the directory. Every error is thrown. */
  advance(advance: Advance): Promise<SyncOutcome> {
    return this.runs.watch('changes', () => this.advanceWithRetry(advance));
  }

  private async runWithRetry(source: DirectorySource, options: RunOptions): Promise<SyncOutcome> {
    for (let attempt = 1; ; attempt++) {
      const before = await this.state.get();
      try {
        return await this.runFrom(source, before, options);
      } catch (error) {
        // Another process applied a revision first. A new attempt finds the remaining changes.
        if (error instanceof OutdatedPlanError && attempt < ATTEMPTS) continue;
        return await this.fail(error, before, options);
      }
    }
  }

  private async advanceWithRetry(advance: Advance): Promise<SyncOutcome> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.advanceFrom(await this.state.get(), advance);
      } catch (error) {
        if (!(error instanceof OutdatedPlanError) || attempt === ATTEMPTS) throw error;
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
    const plan = await planDelta(manager, snapshot, delta);
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
        await this.transaction(options.signal, (manager) =>
          pruneChanges(manager, this.config.directory.changesDays),
        );
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
    const { plan, skipped } = await planWhole(this.dataSource.manager, snapshot);
    const findings = { plan, quarantined: snapshot.quarantined, skipped };
    const reading = { asOf, fingerprint, position: source.position(), covers: null, signal };
    return this.conclude(findings, before, reading, options);
  }

  /** Checks a plan with the deletion guard, and applies it. */
  private async conclude(
    findings: Findings,
    before: MirrorStatus,
    reading: Reading,
    { dryRun, confirm, progress, whenBehind }: RunOptions = {},
  ): Promise<SyncOutcome> {
    const { plan, quarantined } = findings;
    const { mapping } = this.config.directory;
    const lost = await countLosses(this.dataSource.manager, lackingInPlan(plan, mapping), mapping);
    const behind = isEmpty(plan) ? null : findBehind(before, reading);
    if (behind !== null && whenBehind === 'fail') throw new ServerBehindError(behind);
    const heldBecause =
      behind === null
        ? await this.guard(plan, lost, before.revision === null, reading.asOf)
        : `${behind}. It lags, or it was restored from a backup, and the mirror would go back with it`;
    if (dryRun === true) return { kind: 'planned', heldBecause, ...findings };
    if (confirm !== undefined && confirm !== plan.hash) {
      await this.state.restore(before);
      const reason = isEmpty(plan)
        ? 'There is nothing left to confirm: the mirror equals the directory'
        : `The plan is not the one to confirm: it is ${plan.hash} now`;
      return { kind: 'failed', reason, isFinal: true, isBehind: false };
    }
    if (heldBecause !== null && confirm === undefined) {
      await this.state.markBlocked(heldBecause, plan.hash);
      return { kind: 'blocked', reason: heldBecause, ...findings };
    }
    progress?.({ stage: 'apply' });
    const now = await readClock(this.dataSource.manager);
    const application: Application = {
      ...reading,
      plan,
      mapping,
      quarantined,
      basedOn: before.revisionId,
      confirmed: heldBecause !== null,
      now,
      changesDays: this.config.directory.changesDays,
    };
    if (isEmpty(plan) && before.revisionId !== null) {
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
    const { dataSource, leadership } = this;
    return inApplyingTransaction({ dataSource, leadership }, work, signal);
  }

  private async guard(plan: Plan, lost: LossCounts, isFirst: boolean, now: Date): Promise<string | null> {
    if (!isFirst && !deletesAnything(plan) && Object.keys(lost).length === 0) return null;
    const { guard, mapping } = this.config.directory;
    const { percent, windowSeconds } = guard;
    const { manager } = this.dataSource;
    const since = new Date(now.getTime() - windowSeconds * 1000);
    const facts = {
      isFirst,
      stored: await countStored(manager),
      recentlyDeleted: await countRecentlyDeleted(manager, since),
      losses: await describeLosses(manager, lost, mapping, since),
    };
    return guardPlan(plan, facts, percent);
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

/**
 * Describes how the server that was read is behind the mirror. Returns null if it is not, or if nothing is
 * known about it.
 */
function findBehind({ position, fingerprint }: MirrorStatus, reading: Reading): string | null {
  const known = stateOf(parsePosition(position));
  const reached = reachedOf(parsePosition(reading.position));
  const behind = describeBehind(known, reached);
  if (behind !== null || reading.fingerprint !== fingerprint) return behind;
  // A replication consumer that is still being filled publishes no state and lacks entries.
  return describeHidden(known, reached);
}

function* entriesOf({ people, groups }: Delta) {
  for (const entry of people.values()) yield { kind: 'person', entry } as const;
  for (const entry of groups.values()) yield { kind: 'group', entry } as const;
}
