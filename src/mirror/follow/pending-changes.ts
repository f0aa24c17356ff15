import { setTimeout as sleep } from 'node:timers/promises';
import { chunksOf } from '../../common/chunks.js';
import type { LdapConnection } from '../../ldap/client/ldap-connection.js';
import { type Delta, DeltaBuilder } from '../../sources/delta.js';
import { READ_TOGETHER } from '../../sources/ldap/ldap-directory.js';
import { isSamePosition } from '../../sources/ldap/position.js';
import { addReadAgain, findWithSameId } from '../plan/id-conflicts.js';
import { addConsequences, DeferredRechecks, findConsequences } from './deferred-rechecks.js';
import { DynamicGroups } from './dynamic-groups.js';
import type { FollowDependencies } from './follow-dependencies.js';
import { addAffectedEntries } from './groups-named.js';
import { Reconciler } from '../reconcile/reconciler.js';
import { countChanged, type SyncOutcome } from '../sync/outcome.js';
import type { ScanResult, DifferingEntry } from '../reconcile/scan.js';
import { stampsOf } from '../reconcile/stamped-source.js';
import { findKnown, writeStamps } from '../reconcile/stored-scan.js';
import type { Reached } from './reached.js';
import { WholeReadingNeededError } from './whole-reading-needed.error.js';

/**
 * Milliseconds until a directory is consistent again: a server rewrites the groups that name a renamed entry after a delay,
 * and users who swap their ids briefly have the same one.
 */
const CONSISTENCY_DELAY_MS = 250;
/** Maximum number of differences of a reconciliation that are applied together; above it, all is read. */
const MOST_DIFFERENCES = 1000;
/** Approximate maximum number of bytes of pending changes while further changes are being collected. */
const LARGEST_PENDING = 32_000_000;

/**
 * The pending changes, and everything that has to be read before they can be applied. There is one for each connection.
 */
export class PendingChanges {
  private readonly pending = new DeltaBuilder();
  private readonly deferredRechecks = new DeferredRechecks();
  private readonly dynamicGroups: DynamicGroups;
  private readonly reconciler: Reconciler;
  private found: ScanResult | null = null;
  /** The position that the mirror has, as far as the follower has read or stored it. */
  storedPosition: string | null = null;
  /** The number of the revision that was applied last; null: none. */
  private revision: number | null = null;

  constructor(
    private readonly dependencies: FollowDependencies,
    private readonly connection: LdapConnection,
    private readonly signal: AbortSignal,
    /** What happens to changes of a server that lacks some of the mirrored ones. */
    private readonly whenBehind: () => 'hold' | 'fail',
  ) {
    this.dynamicGroups = new DynamicGroups(dependencies, connection);
    this.reconciler = new Reconciler(dependencies, signal);
  }

  add(changes: Delta): void {
    this.pending.absorb(changes);
  }

  /**
   * Records that the whole directory has just been read and applied.
   * @param found the comparison that required it, or null if none did
   */
  async noteWhole(
    outcome: SyncOutcome,
    stamps: ReadonlyMap<string, string>,
    seconds: number,
    found: ScanResult | null,
  ): Promise<void> {
    await writeStamps(this.dependencies.manager, stamps);
    await this.reconciler.noteWhole(seconds, found, countChanged(outcome, found?.differing ?? []));
  }

  get millisecondsUntilDue(): number {
    return Math.min(
      this.reconciler.millisecondsUntilDue,
      this.deferredRechecks.millisecondsUntilDue(performance.now()),
      this.dynamicGroups.delay,
    );
  }

  /** Whether applyRechecks will read entries again that a reconciliation has found. */
  get hasFinding(): boolean {
    return this.reconciler.hasFinding;
  }

  close(): Promise<void> {
    return this.reconciler.close();
  }

  /**
   * Adds the current state of entries.
   * @param before the position and time of the mirror without them
   * @returns null, or the outcome if the pending changes became too large, were applied early, and are held
   */
  async readAgain(wanted: Iterable<string>, before: Reached): Promise<SyncOutcome | null> {
    const { directory } = this.dependencies;
    for (const uuids of chunksOf([...wanted], READ_TOGETHER)) {
      const found = await directory.readAgain(this.connection, uuids);
      for (const { kind, uuid, entry } of found) this.pending.put(kind, uuid, entry);
      const held = await this.applyIfLarge(before);
      if (held !== null) return held;
    }
    return null;
  }

  /**
   * Adds the current state of entries that have changed or may be deleted. A mirrored entry that no search finds by its identity
   * is gone, or no longer a user or group. See readAgain.
   */
  async readChanged(changed: readonly string[], before: Reached): Promise<SyncOutcome | null> {
    const { directory, manager } = this.dependencies;
    for (const uuids of chunksOf(changed, READ_TOGETHER)) {
      const known = await findKnown(manager, uuids);
      const found = await directory.readAgain(this.connection, uuids);
      for (const { kind, uuid } of known) this.pending.remove(kind, uuid);
      for (const { kind, uuid, entry } of found) this.pending.put(kind, uuid, entry);
      const held = await this.applyIfLarge(before);
      if (held !== null) return held;
    }
    return null;
  }

  /**
   * Adds changes that no message reports: the consequences of earlier changes, and the findings of a
   * reconciliation.
   * @param before as for readAgain; the return value is the same too
   * @throws WholeReadingNeededError if too much differs
   */
  async applyRechecks(before: Reached): Promise<SyncOutcome | null> {
    const { directory } = this.dependencies;
    // A comparison that ends from now on waits for the next call: changes older than its findings may still
    // be in transit.
    const finding = this.reconciler.takeFinding();
    await addConsequences(
      this.pending,
      this.deferredRechecks.take(performance.now()),
      directory,
      this.connection,
    );
    if (finding !== null) return this.addDifferences(finding, before);
    await this.reconciler.tick();
    return null;
  }

  /** Adds new, renamed, hidden and deleted entries at once. See applyRechecks. */
  async compareNow(before: Reached): Promise<SyncOutcome | null> {
    return this.addDifferences(await this.reconciler.scanNow(this.connection, 'look'), before);
  }

  /**
   * Adds changes that were missed during a failure, before the mirror is reported as current. See applyRechecks.
   */
  async compareAfterTrouble(before: Reached): Promise<SyncOutcome | null> {
    const depth = await this.reconciler.getDepthDue();
    return this.addDifferences(await this.reconciler.scanNow(this.connection, depth), before);
  }

  /**
   * Applies the pending changes. If the deletion guard holds them, they are discarded because they may be
   * large, and have to be read again from the position of the mirror.
   */
  async takeOver({ position, asOf, status }: Reached): Promise<SyncOutcome> {
    const { synchronizer, reporter, directory } = this.dependencies;
    const { pending: delta, signal } = this;
    await this.complete();
    const stamps = stampsOf(delta, directory);
    const whenBehind = this.whenBehind();
    // Large changes may have been applied since the state was read.
    const from = this.storedPosition;
    const isCurrent = this.revision === null || status?.revision === this.revision;
    const before = isCurrent && isSamePosition(status?.position ?? null, from) ? status : undefined;
    const advance = { delta, asOf, position, from, signal, before, stamps, whenBehind };
    const outcome = await reporter.reportRun(() => synchronizer.advance(advance));
    const { found } = this;
    this.found = null;
    this.pending.clear();
    if (outcome.kind === 'blocked') return outcome;
    this.storedPosition = position;
    if (outcome.kind === 'applied') this.revision = outcome.revision;
    if (found !== null) await this.reconciler.conclude(found, countChanged(outcome, found.differing));
    return outcome;
  }

  private async addDifferences(result: ScanResult, before: Reached): Promise<SyncOutcome | null> {
    const { depth, differing } = result;
    // A `look` scan is part of normal polling, and finds all entries of a bulk change. They may be applied in
    // parts: the deletion guard adds up the deletions of its window across all parts.
    const isPiecemeal = depth === 'look';
    if (!isPiecemeal && differing.length > MOST_DIFFERENCES) throw new WholeReadingNeededError(result);
    for (const some of chunksOf(differing, READ_TOGETHER)) {
      const isFound = await this.addDiffering(some);
      if (!isFound || (!isPiecemeal && this.pending.weight >= LARGEST_PENDING))
        throw new WholeReadingNeededError(result);
      const held = await this.applyIfLarge(before);
      if (held !== null) return held;
    }
    this.found = result;
    return null;
  }

  /**
   * Adds the current state of entries. An entry counts as deleted only if the comparison did not list it and
   * a search by its identity does not find it: a server with an incomplete index lists entries that it does
   * not find.
   * @returns false if the server has such an incomplete index
   */
  private async addDiffering(differing: readonly DifferingEntry[]): Promise<boolean> {
    const { directory, config, reporter } = this.dependencies;
    const uuids = differing.map(({ uuid }) => uuid);
    const found = await directory.readAgain(this.connection, uuids);
    for (const { kind, uuid, dn } of differing) {
      const [entry, ...others] = found.filter((each) => each.kind === kind && each.uuid === uuid);
      if (entry !== undefined) {
        // Two entries with one identity are quarantined, or will be when the whole directory is read.
        if (others.length === 0) this.pending.put(kind, uuid, entry.entry);
      } else if (dn === null) this.pending.remove(kind, uuid);
      else if (await directory.isListed(this.connection, { kind, uuid, dn })) {
        reporter.reportRisk(
          `The directory server lists entries that it does not find by ${config.mapping.users.uuid}: its index is incomplete, and everything is read instead`,
        );
        return false;
      }
    }
    return true;
  }

  private async applyIfLarge(before: Reached): Promise<SyncOutcome | null> {
    if (this.pending.weight < LARGEST_PENDING) return null;
    const outcome = await this.takeOver(before);
    return outcome.kind === 'blocked' ? outcome : null;
  }

  private async complete(): Promise<void> {
    const { config, directory, manager } = this.dependencies;
    const { pending, connection, signal } = this;
    const readAgain = (uuids: readonly string[]) => directory.readAgain(connection, uuids);
    await this.dynamicGroups.addTo(pending);
    const consequences = await findConsequences(manager, pending);
    if (consequences.hasRenamed) await sleep(CONSISTENCY_DELAY_MS, undefined, { signal });
    await addConsequences(pending, consequences, directory, connection);
    this.deferredRechecks.expect(consequences, performance.now());
    await addAffectedEntries(pending, this.dependencies, readAgain);
    const sameId = await findWithSameId(pending, manager, config.mapping);
    if (sameId.length === 0) return;
    await sleep(CONSISTENCY_DELAY_MS, undefined, { signal });
    await addReadAgain(pending, sameId, readAgain);
    await addAffectedEntries(pending, this.dependencies, readAgain);
  }
}
