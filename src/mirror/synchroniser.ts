import { Inject, Injectable, Logger } from '@nestjs/common';
import { DataSource } from 'typeorm';
import type { Config } from '../config/config.js';
import { CONFIG } from '../config/config.module.js';
import { LdifError } from '../ldap/ldif-error.js';
import { applyPlan, OutdatedPlanError, replaceQuarantine } from './apply.js';
import { guardPlan } from './guard.js';
import { LdifSource } from './ldif-source.js';
import { MirrorState, type MirrorStatus, SyncState } from './mirror-state.js';
import { PictureStore } from './picture-store.js';
import { compareEntries, isEmpty, type Plan, planChanges } from './plan.js';
import { readSnapshot } from './read.js';
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
  | {
      readonly kind: 'failed';
      readonly reason: string;
      /** The contents of the source are wrong: trying again before it changes is no use. */
      readonly isFinal: boolean;
    }
  | { readonly kind: 'stopped' };

export interface RunOptions {
  /** Plans and changes nothing. */
  readonly dryRun?: boolean;
  /** The hash of a plan that is applied although the guard holds it, if it is still the plan. */
  readonly confirm?: string;
  /** Reads the source although it looks as it did last time. */
  readonly force?: boolean;
  /** Ends the run early, and nothing of it stays. */
  readonly signal?: AbortSignal;
}

/** Runs that make room for another process's revision before one gives up. */
const ATTEMPTS = 5;

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
    for (let attempt = 1; ; attempt++) {
      const before = await this.state.get();
      try {
        return await this.runFrom(before, options);
      } catch (error) {
        // Another process was first: what is left to do is found out by looking again.
        if (error instanceof OutdatedPlanError && attempt < ATTEMPTS) continue;
        return await this.fail(error, before, options);
      }
    }
  }

  private async runFrom(before: MirrorStatus, options: RunOptions): Promise<Outcome> {
    const asOf = new Date();
    const fingerprint = await this.source.fingerprint();
    if (options.dryRun === true) return this.takeOver(options, asOf, fingerprint, before);
    const looksUnchanged = fingerprint === before.fingerprint && before.state === SyncState.IDLE;
    if (looksUnchanged && options.force !== true) {
      await this.state.confirmUnchanged(asOf, fingerprint);
      return { kind: 'unchanged' };
    }
    // A reason goes on being told until it is known to be gone.
    if (before.reason === null) await this.state.markRunning();
    return this.takeOver(options, asOf, fingerprint, before);
  }

  private async takeOver(
    { dryRun, confirm, signal = new AbortController().signal }: RunOptions,
    asOf: Date,
    fingerprint: string,
    before: MirrorStatus,
  ): Promise<Outcome> {
    const pictures = await PictureStore.open(this.dataSource);
    const snapshot = await readSnapshot(this.source, this.config.directory.mapping, pictures, signal);
    const plan = await this.plan(snapshot);
    const heldBecause = await this.guard(plan, snapshot, asOf);
    if (dryRun === true) return { kind: 'planned', plan, snapshot, heldBecause };
    if (confirm !== undefined && confirm !== plan.hash) {
      await this.state.restore(before);
      const reason = `The plan is not the one to confirm: it is ${plan.hash} now`;
      return { kind: 'failed', reason, isFinal: true };
    }
    if (heldBecause !== null && confirm === undefined) {
      await this.state.markBlocked(heldBecause, plan.hash);
      return { kind: 'blocked', reason: heldBecause, plan, snapshot };
    }
    if (isEmpty(plan) && before.revision !== null) {
      await this.dataSource.transaction((manager) => replaceQuarantine(manager, snapshot.quarantined));
      await this.state.confirmUnchanged(asOf, fingerprint);
      return { kind: 'unchanged' };
    }
    const revision = await this.dataSource.transaction((manager) =>
      applyPlan(manager, {
        plan,
        basedOn: before.revision,
        confirmed: heldBecause !== null,
        asOf,
        fingerprint,
        quarantined: snapshot.quarantined,
        now: new Date(),
        signal,
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

  private async fail(error: unknown, before: MirrorStatus, options: RunOptions): Promise<Outcome> {
    const isStopped = options.signal?.aborted === true;
    const isOurs =
      error instanceof LdifError || error instanceof SourceError || error instanceof OutdatedPlanError;
    if (isStopped) {
      // Where even that fails, the next start finds a run that was cut off, and reads the source again.
      await this.state.restore(before).catch(() => undefined);
      return { kind: 'stopped' };
    }
    if (!isOurs) {
      // Most likely the database is away, and takes no note of it either: then the first error is the one to tell.
      if (options.dryRun !== true) {
        await this.state.markFailing('The mirror cannot be written').catch(() => undefined);
      }
      throw error;
    }
    if (options.dryRun !== true) await this.state.markFailing(error.message);
    this.logger.debug(error.stack ?? error.message);
    return { kind: 'failed', reason: error.message, isFinal: error instanceof LdifError };
  }
}
