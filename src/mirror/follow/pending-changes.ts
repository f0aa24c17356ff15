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
import type { ScanResult } from '../reconcile/scan.js';
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
  constructor() {
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
   */
  async noteWhole(stamps: ReadonlyMap<string, string>, seconds: number): Promise<void> {
    await writeStamps(this.surroundings.manager, stamps);
    await this.reconciler.noteWhole(seconds);
  }

  /** The server has other server IDs than before, or went back: whatever is mirrored may differ from it. */
  noteServerChanged(): void {
    this.reconciler.demand();
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
    const { directory } = this.surroundings;
    const { depth, suspects } = result;
    // Of a look at most DNs differ, which may be taken over in pieces: nothing of what the guard watches is lost by that.
    const isPiecemeal = depth === 'look';
    if (!isPiecemeal && suspects.length > MOST_DIFFERENCES) throw new WholeReadingNeededError();
    const readAgain = (uuids: readonly string[]) => directory.readAgain(this.connection, uuids);
    for (let start = 0; start < suspects.length; start += AT_ONCE) {
      await addAnew(this.pending, suspects.slice(start, start + AT_ONCE), readAgain);
      if (!isPiecemeal && this.pending.weight >= LARGEST_PENDING) throw new WholeReadingNeededError();
      const held = await this.relieve(before);
      if (held !== null) return held;
    }
    this.found = result;
    return null;
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
