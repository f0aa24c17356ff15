import { setTimeout as sleep } from 'node:timers/promises';
import type { EntityManager } from 'typeorm';
import type { DirectoryConfig } from '../../config/settings/directory.js';
import type { LdapConnection } from '../../ldap/client/ldap-connection.js';
import { type Delta, DeltaBuilder } from '../../sources/delta.js';
import type { LdapDirectory } from '../../sources/ldap/ldap-directory.js';
import { addAnew, findRivals, withClaimants } from '../plan/id-conflicts.js';
import { addConsequences, Aftermath, findConsequences } from './deferred-rechecks.js';
import { DynamicGroups } from './dynamic-groups.js';
import type { MirrorState } from '../status/mirror-state.js';
import { countChanged } from '../sync/outcome.js';
import { Reconciler } from '../reconcile/reconciler.js';
import type { RunReporter } from '../sync/run-reporter.js';
import type { Outcome } from '../sync/outcome.js';
import type { ScanResult, Suspect } from '../reconcile/scan.js';
import { writeStamps } from '../reconcile/stored-scan.js';
import type { Synchroniser } from '../sync/synchronizer.js';

/**
 * Milliseconds in which a directory gets from one state that is right to another: a server rewrites the groups that name
 * somebody who was renamed, and of two people who swap their ids both have the same one for a moment.
 */
const MOMENT = 250;
/** Entries that are read again at once: each may have a picture of megabytes. */
const AT_ONCE = 20;
/** Differences that a reconciliation has found and that are taken over together; of more, everything is read again. */
const MOST_DIFFERENCES = 1000;
/** About as many bytes of changes as wait at most while others are still being looked for. */
const LARGEST_PENDING = 32_000_000;

/** How far the mirror is once everything that is pending has been taken over. */
export interface Reached {
  readonly position: string | null;
  readonly asOf: Date;
}

/** More differs than is taken over together: everything has to be read, and planned as a whole. */
export class WholeReadingNeededError extends Error {
  /** @param found by a comparison, and not taken over */
  constructor(readonly found: ScanResult) {
    super('More entries differ than can be taken over together: everything has to be read');
    this.name = 'WholeReadingNeededError';
  }
}

interface Surroundings {
  readonly config: DirectoryConfig;
  readonly directory: LdapDirectory;
  readonly manager: EntityManager;
  readonly synchroniser: Synchroniser;
  readonly state: MirrorState;
  readonly reporter: RunReporter;
}

/**
 * What is known to have changed, with everything that has to be looked at before it can be taken over. One for each
 * connection, since nothing may be missed between two.
 */
export class Intake {
  private readonly pending = new DeltaBuilder();
  private readonly aftermath = new Aftermath();
  private readonly dynamicGroups: DynamicGroups;
  private readonly reconciler: Reconciler;
  /** What a comparison has found, while it is among what is pending. */
  private found: ScanResult | null = null;

  constructor(
    private readonly surroundings: Surroundings,
    private readonly connection: LdapConnection,
    private readonly signal: AbortSignal,
  ) {
    this.dynamicGroups = new DynamicGroups(surroundings, connection);
    const counts = surroundings.synchroniser.reconciliations;
    this.reconciler = new Reconciler({ ...surroundings, counts }, signal);
  }

  add(changes: Delta): void {
    this.pending.absorb(changes);
  }

  /**
   * Everything has just been read and taken over.
   * @param stamps what the server has said of the entries
   * @param seconds that it took
   * @param found by the comparison that asked for it; null: none did
   */
  async noteWhole(
    outcome: Outcome,
    {
      stamps,
      seconds,
      found,
    }: { stamps: ReadonlyMap<string, string>; seconds: number; found: ScanResult | null },
  ): Promise<void> {
    await writeStamps(this.surroundings.manager, stamps);
    const kind = found?.depth === 'contents' ? 'contents' : 'identities';
    const healing =
      found === null ? null : ({ kind, healed: countChanged(outcome, found.suspects) } as const);
    await this.reconciler.noteWhole(seconds, healing);
  }

  /** Milliseconds that nothing has to be looked at for. */
  get patience(): number {
    return Math.min(
      this.reconciler.patience,
      this.aftermath.patience(performance.now()),
      this.dynamicGroups.patience,
    );
  }

  /** Whether lookAround will read entries again that a reconciliation has found. */
  get isHealing(): boolean {
    return this.reconciler.hasFinding;
  }

  /** Ends what goes on in the background. */
  async close(): Promise<void> {
    await this.reconciler.close();
  }

  /**
   * Adds entries as they are now.
   * @param before how far the mirror is without them
   * @returns null; or the outcome, when some of it was too much to be kept and is held
   */
  async readAgain(wanted: Iterable<string>, before: Reached): Promise<Outcome | null> {
    const { directory } = this.surroundings;
    const uuids = [...wanted];
    for (let start = 0; start < uuids.length; start += AT_ONCE) {
      const found = await directory.readAgain(this.connection, uuids.slice(start, start + AT_ONCE));
      for (const { kind, uuid, entry } of found) this.pending.put(kind, uuid, entry);
      const held = await this.relieve(before);
      if (held !== null) return held;
    }
    return null;
  }

  /**
   * Adds what no message tells of: what earlier changes entailed, and what a reconciliation in the background has found.
   * @param before as for readAgain, and what comes back too
   * @throws WholeReadingNeededError
   */
  async lookAround(before: Reached): Promise<Outcome | null> {
    const { directory } = this.surroundings;
    // What ends meanwhile waits for the next time: changes that are older than its findings may be under way.
    const finding = this.reconciler.takeFinding();
    await addConsequences(this.pending, this.aftermath.take(performance.now()), directory, this.connection);
    if (finding !== null) return this.heal(finding, before);
    await this.reconciler.tick();
    return null;
  }

  /** Adds, at once, what has moved or is hidden. As lookAround. */
  async compareNow(before: Reached): Promise<Outcome | null> {
    return this.heal(await this.reconciler.scanNow(this.connection, 'look'), before);
  }

  /** Compares, before anything is said to be as it is in the directory, what went unseen while it was not. As lookAround. */
  async compareAfterTrouble(before: Reached): Promise<Outcome | null> {
    const depth = await this.reconciler.getDepthDue();
    return this.heal(await this.reconciler.scanNow(this.connection, depth), before);
  }

  /** Takes over what is pending. Held by the guard, it has to be read again from where the mirror is: it may be large. */
  async takeOver({ position, asOf }: Reached): Promise<Outcome> {
    const { synchroniser, reporter, manager } = this.surroundings;
    const { pending: delta, signal } = this;
    await this.complete();
    const outcome = await reporter.tell(() => synchroniser.advance({ delta, asOf, position, signal }));
    const { found } = this;
    this.found = null;
    const stamps = this.stampsOfPending();
    this.pending.clear();
    if (outcome.kind === 'blocked') return outcome;
    await writeStamps(manager, stamps);
    if (found !== null) await this.reconciler.conclude(found, countChanged(outcome, found.suspects));
    return outcome;
  }

  /** Adds entries that differ, as they are now. */
  private async heal(result: ScanResult, before: Reached): Promise<Outcome | null> {
    const { depth, suspects } = result;
    // Of a look at most DNs differ, which may be taken over in pieces: nothing of what the guard watches is lost by that.
    const isPiecemeal = depth === 'look';
    if (!isPiecemeal && suspects.length > MOST_DIFFERENCES) throw new WholeReadingNeededError(result);
    for (let start = 0; start < suspects.length; start += AT_ONCE) {
      const isFound = await this.addSuspects(suspects.slice(start, start + AT_ONCE));
      if (!isFound || (!isPiecemeal && this.pending.weight >= LARGEST_PENDING))
        throw new WholeReadingNeededError(result);
      const held = await this.relieve(before);
      if (held !== null) return held;
    }
    this.found = result;
    return null;
  }

  /**
   * Adds entries as they are now. One is only taken to be gone when it was neither listed by the comparison nor is found
   * by its identity: a server whose index of identities is incomplete lists entries that it does not find.
   * @returns false when the server is such a one
   */
  private async addSuspects(suspects: readonly Suspect[]): Promise<boolean> {
    const { directory, config, reporter } = this.surroundings;
    const found = await directory.readAgain(
      this.connection,
      suspects.map(({ uuid }) => uuid),
    );
    for (const { kind, uuid, dn } of suspects) {
      const entries = found.filter((each) => each.kind === kind && each.uuid === uuid);
      const [entry] = entries;
      if (entry === undefined && dn === null) this.pending.remove(kind, uuid);
      // Two with one identity are in quarantine, or a reading of everything puts them there.
      else if (entry !== undefined && entries.length === 1) this.pending.put(kind, uuid, entry.entry);
      else if (
        entry === undefined &&
        dn !== null &&
        (await directory.isListed(this.connection, { kind, uuid, dn }))
      ) {
        reporter.tellRisk(
          `The directory server lists entries that it does not find by ${config.mapping.people.uuid}: its index is incomplete, and everything is read instead`,
        );
        return false;
      }
    }
    return true;
  }

  /** What the server says of the entries that are pending. */
  private stampsOfPending(): Map<string, string> {
    const { directory } = this.surroundings;
    const stamps = new Map<string, string>();
    for (const entries of [this.pending.people, this.pending.groups]) {
      for (const [uuid, entry] of entries) {
        const stamp = directory.stampOf(entry);
        if (stamp !== null) stamps.set(uuid, stamp);
      }
    }
    return stamps;
  }

  /** Takes over what is pending when it is much. */
  private async relieve(before: Reached): Promise<Outcome | null> {
    if (this.pending.weight < LARGEST_PENDING) return null;
    const outcome = await this.takeOver(before);
    return outcome.kind === 'blocked' ? outcome : null;
  }

  /** Adds what else has to be looked at. */
  private async complete(): Promise<void> {
    const { config, directory, manager } = this.surroundings;
    const { pending, connection, signal } = this;
    await this.dynamicGroups.addTo(pending);
    const consequences = await findConsequences(manager, pending);
    if (consequences.hasRenamed) await sleep(MOMENT, undefined, { signal });
    await addConsequences(pending, consequences, directory, connection);
    this.aftermath.expect(consequences, performance.now());

    const readAgain = (uuids: readonly string[]) => directory.readAgain(connection, uuids);
    await withClaimants(pending, manager, config.mapping, readAgain);
    const rivals = await findRivals(pending, manager, config.mapping);
    if (rivals.length === 0) return;
    await sleep(MOMENT, undefined, { signal });
    await addAnew(pending, rivals, readAgain);
    await withClaimants(pending, manager, config.mapping, readAgain);
  }
}
