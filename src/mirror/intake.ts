import { setTimeout as sleep } from 'node:timers/promises';
import type { EntityManager } from 'typeorm';
import type { DirectoryConfig } from '../config/directory.js';
import type { LdapConnection } from '../ldap/connection.js';
import { type Delta, DeltaBuilder } from '../sources/delta.js';
import type { LdapDirectory } from '../sources/ldap-directory.js';
import { Audit } from './audit.js';
import { addAnew, findRivals, withClaimants } from './claimants.js';
import { addConsequences, Aftermath, findConsequences } from './consequences.js';
import { DynamicGroups } from './dynamic-groups.js';
import type { RunReporter } from './run-reporter.js';
import type { Outcome } from './outcome.js';
import type { Synchroniser } from './synchroniser.js';

/** Milliseconds between two audits. */
const AUDIT_INTERVAL = 600_000;
/**
 * Milliseconds in which a directory gets from one state that is right to another: a server rewrites the groups that name
 * somebody who was renamed, and of two people who swap their ids both have the same one for a moment.
 */
const MOMENT = 250;
/**
 * Milliseconds between two readings of everything where changes are looked for by their time: a server may have been put
 * back to an earlier state, or have had a wrong clock, and then has changed what no look finds.
 */
const READING_INTERVAL = 3_600_000;
/** Entries that are read again at once: each may have a picture of megabytes. */
const AT_ONCE = 20;
/** About as many bytes of changes as wait at most while others are still being looked for. */
const LARGEST_PENDING = 32_000_000;

/** How far the mirror is once everything that is pending has been taken over. */
export interface Reached {
  readonly position: string | null;
  readonly asOf: Date;
}

interface Surroundings {
  readonly config: DirectoryConfig;
  readonly directory: LdapDirectory;
  readonly manager: EntityManager;
  readonly synchroniser: Synchroniser;
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
  /** On a clock that only goes forward, as all times here: that of the machine may be set back. */
  private auditedAt = -Infinity;
  private readAt = performance.now();

  constructor(
    private readonly surroundings: Surroundings,
    private readonly connection: LdapConnection,
    private readonly signal: AbortSignal,
  ) {
    this.dynamicGroups = new DynamicGroups(surroundings, connection);
  }

  add(changes: Delta): void {
    this.pending.absorb(changes);
  }

  get isAuditDue(): boolean {
    return performance.now() - this.auditedAt > AUDIT_INTERVAL;
  }

  /** Whether everything has to be read where changes are looked for by their time. */
  get isReadingDue(): boolean {
    return performance.now() - this.readAt > READING_INTERVAL;
  }

  /** Everything has just been read. */
  noteWhole(): void {
    this.auditedAt = performance.now();
    this.readAt = performance.now();
  }

  /** The server has other server IDs than before, or went back: whatever is mirrored may differ from it. */
  noteServerChanged(): void {
    this.auditedAt = -Infinity;
  }

  /** Milliseconds that nothing has to be looked at for. */
  get patience(): number {
    const patience = Math.min(this.aftermath.patience(performance.now()), this.dynamicGroups.patience);
    return this.isAuditDue ? 0 : patience;
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
   * Adds what nobody tells of: what earlier changes entailed, and the outcome of an audit.
   * @param wantsAudit something has happened that only an audit finds out about
   * @param before as for readAgain, and what comes back too
   */
  async lookAround(wantsAudit: boolean, before: Reached): Promise<Outcome | null> {
    const { config, directory, manager } = this.surroundings;
    await addConsequences(this.pending, this.aftermath.take(performance.now()), directory, this.connection);
    const { isAuditDue } = this;
    if (!wantsAudit && !isAuditDue) return null;
    const audit = new Audit(manager, directory, this.connection, config.mapping);
    for await (const { kind, uuid, entry } of audit.find({ groupsThoroughly: isAuditDue })) {
      if (entry === null) this.pending.remove(kind, uuid);
      else this.pending.put(kind, uuid, entry);
      const held = await this.relieve(before);
      if (held !== null) return held;
    }
    if (isAuditDue) this.auditedAt = performance.now();
    return null;
  }

  /** Takes over what is pending. Held by the guard, it has to be read again from where the mirror is: it may be large. */
  async takeOver({ position, asOf }: Reached): Promise<Outcome> {
    const { synchroniser, reporter } = this.surroundings;
    const { pending: delta, signal } = this;
    await this.complete();
    const outcome = await reporter.tell(() => synchroniser.advance({ delta, asOf, position, signal }));
    this.pending.clear();
    return outcome;
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
