import { Inject, Injectable, Logger } from '@nestjs/common';
import { DataSource } from 'typeorm';
import type { Config } from '../config/config.js';
import { CONFIG } from '../config/config.module.js';
import { LdifError } from '../ldap/ldif-error.js';
import { applyPlan, OutdatedPlanError, replaceQuarantine } from './apply.js';
import { guardPlan } from './guard.js';
import { LdifSource } from './ldif-source.js';
import { MirrorState, SyncState } from './mirror-state.js';
import { PictureStore } from './picture-store.js';
import { compareEntries, isEmpty, type Plan, planChanges } from './plan.js';
import { type Progress, readSnapshot } from './read.js';
import type { Snapshot } from './snapshot.js';
import { SourceError } from './source.error.js';
import { countRecentlyDeleted, countStored, readStoredEntries, readStoredRoles } from './stored.js';

/** How a run ended. */
export type Outcome =
  | { readonly kind: 'unchanged' }
  | { readonly kind: 'applied'; readonly revision: number; readonly plan: Plan; readonly snapshot: Snapshot }
  | { readonly kind: 'blocked'; readonly reason: string; readonly plan: Plan; readonly snapshot: Snapshot }
  | {
      readonly kind: 'planned';
      readonly plan: Plan;
      readonly snapshot: Snapshot;
      readonly heldBecause: string | null;
    }
  | { readonly kind: 'failed'; readonly reason: string };

export interface RunOptions {
  /** Plans and changes nothing. */
  readonly dryRun?: boolean;
  /** The hash of a plan that is applied although the guard holds it, if it is still the plan. */
  readonly confirm?: string;
  /** Reads the source although it looks as it did last time. */
  readonly force?: boolean;
  readonly progress?: Progress;
}

/** Runs from the source to a new revision: read, relate, plan, guard, apply (docs/architecture.md). */
@Injectable()
export class Synchroniser {
  private readonly logger = new Logger('Mirror');
  private readonly source: LdifSource;

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    private readonly dataSource: DataSource,
    private readonly state: MirrorState,
  ) {
    this.source = new LdifSource(config.directory);
  }

  /** Stands for the source as it is now: see LdifSource. */
  fingerprint(): Promise<string> {
    return this.source.fingerprint();
  }

  /** One run. What goes wrong with the source is an outcome; what goes wrong with the database is thrown. */
  async run(options: RunOptions = {}): Promise<Outcome> {
    const asOf = new Date();
    try {
      const fingerprint = await this.source.fingerprint();
      const status = await this.state.get();
      const looksUnchanged = fingerprint === status.fingerprint && status.state === SyncState.IDLE;
      if (looksUnchanged && options.force !== true && options.dryRun !== true) {
        await this.state.confirmUnchanged(asOf, fingerprint);
        return { kind: 'unchanged' };
      }
      if (options.dryRun !== true) await this.state.markRunning();
      return await this.takeOver(options, asOf, fingerprint, status.revision);
    } catch (error) {
      return await this.fail(error, options);
    }
  }

  private async takeOver(
    options: RunOptions,
    asOf: Date,
    fingerprint: string,
    basedOn: number | null,
  ): Promise<Outcome> {
    const pictures = await PictureStore.open(this.dataSource);
    const snapshot = await readSnapshot(
      this.source,
      this.config.directory.mapping,
      pictures,
      options.progress,
    );
    const plan = await this.plan(snapshot);
    const heldBecause = await this.guard(plan, snapshot, asOf);
    if (options.dryRun === true) return { kind: 'planned', plan, snapshot, heldBecause };
    if (heldBecause !== null && options.confirm !== plan.hash) {
      await this.state.markBlocked(heldBecause, plan.hash);
      return { kind: 'blocked', reason: heldBecause, plan, snapshot };
    }
    if (options.confirm !== undefined && options.confirm !== plan.hash) {
      await this.restore(basedOn);
      return {
        kind: 'failed',
        reason: `The plan is not the one to confirm any more: it is ${plan.hash} now`,
      };
    }
    if (isEmpty(plan) && basedOn !== null) {
      await this.dataSource.transaction((manager) => replaceQuarantine(manager, snapshot.quarantined));
      await this.state.confirmUnchanged(asOf, fingerprint);
      return { kind: 'unchanged' };
    }
    const confirmed = heldBecause !== null;
    const revision = await this.dataSource.transaction((manager) =>
      applyPlan(manager, {
        plan,
        basedOn,
        confirmed,
        asOf,
        fingerprint,
        quarantined: snapshot.quarantined,
        now: new Date(),
      }),
    );
    return { kind: 'applied', revision, plan, snapshot };
  }

  private async plan(snapshot: Snapshot): Promise<Plan> {
    const { manager } = this.dataSource;
    const comparison = compareEntries(snapshot, await readStoredEntries(manager));
    const touched = [
      ...comparison.groups.updated.map(({ value }) => value.uuid),
      ...comparison.groups.deleted.map(({ uuid }) => uuid),
    ];
    return planChanges(comparison, await readStoredRoles(manager, touched));
  }

  private async guard(plan: Plan, snapshot: Snapshot, now: Date): Promise<string | null> {
    const { percent, windowSeconds } = this.config.directory.guard;
    const { manager } = this.dataSource;
    const facts = {
      stored: await countStored(manager),
      recentlyDeleted: await countRecentlyDeleted(manager, new Date(now.getTime() - windowSeconds * 1000)),
      peopleInSource: snapshot.people.size,
    };
    return guardPlan(plan, facts, percent);
  }

  private async restore(revision: number | null): Promise<void> {
    await this.dataSource.query('update mirror_state set state = $1', [
      revision === null ? SyncState.NEVER_RUN : SyncState.IDLE,
    ]);
  }

  private async fail(error: unknown, { dryRun }: RunOptions): Promise<Outcome> {
    if (!(error instanceof LdifError || error instanceof SourceError || error instanceof OutdatedPlanError))
      throw error;
    if (dryRun !== true) await this.state.markFailing(error.message);
    this.logger.debug(error.stack ?? error.message);
    return { kind: 'failed', reason: error.message };
  }
}
