import type { DirectoryMapping } from '../../config/model/mapping.js';
import type { DirectorySource } from '../../sources/source.js';
import { type EntryReceiver, readEntries, type ReadOptions, SnapshotReceiver } from '../sync/read-entries.js';
import type { MappedGroup, MappedPerson, Quarantined, Snapshot } from '../map/snapshot.js';
import type { BulkSession } from './bulk-session.js';
import { Staging } from './staging.js';

/** Entries and references of groups above which a run is one in bulk, with bounded memory. */
export const BULK_LIMIT = 20_000;
/** References take a tenth of the memory of an entry. */
const REFERENCES_OF_ENTRY = 10;

/** The entries of a whole source: in memory, or in tables. */
type WholeContent =
  | { readonly session: null; readonly snapshot: Snapshot }
  | { readonly session: BulkSession; readonly quarantined: readonly Quarantined[] };

/**
 * Reads a whole source, and stages its entries from a number of them on.
 * @param session null if entries must stay in memory
 */
export async function readWhole(
  source: DirectorySource,
  session: BulkSession | null,
  limit: number,
  options: ReadOptions,
): Promise<WholeContent> {
  const receiver = new WholeReceiver(session, limit, options.mapping);
  await readEntries(source.read(options.signal), receiver, options);
  const { staging, quarantined } = receiver;
  if (staging === null || session === null) return { session: null, snapshot: receiver.kept.gather() };
  await staging.finish();
  return { session, quarantined };
}

class WholeReceiver implements EntryReceiver {
  kept = new SnapshotReceiver();
  readonly quarantined: Quarantined[] = this.kept.quarantined;
  staging: Staging | null = null;
  private weight = 0;

  constructor(
    private readonly session: BulkSession | null,
    private readonly limit: number,
    private readonly mapping: DirectoryMapping,
  ) {}

  async addPerson(person: MappedPerson): Promise<void> {
    if (this.staging !== null) return this.staging.addPerson(person);
    this.kept.addPerson(person);
    await this.stageIfLarge(1);
  }

  async addGroup(group: MappedGroup): Promise<void> {
    if (this.staging !== null) return this.staging.addGroup(group);
    this.kept.addGroup(group);
    await this.stageIfLarge(1 + group.references.size / REFERENCES_OF_ENTRY);
  }

  private async stageIfLarge(weight: number): Promise<void> {
    this.weight += weight;
    // Users who name their groups are members only if the whole directory is known.
    if (this.session === null || this.weight <= this.limit || this.mapping.users.memberOf !== undefined)
      return;
    const staging = await Staging.begin(await this.session.open(), this.mapping);
    for (const person of this.kept.people) await staging.addPerson(person);
    for (const group of this.kept.groups) await staging.addGroup(group);
    this.kept = new SnapshotReceiver();
    this.staging = staging;
  }
}
