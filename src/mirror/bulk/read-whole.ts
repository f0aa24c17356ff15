import { LdifError } from '../../ldap/ldif/ldif-error.js';
import { IrregularRecordsError } from '../../sources/ldif/ldif-records.js';
import type { DirectorySource, SourceRecord } from '../../sources/source.js';
import { recordsOfEntries } from '../../sources/source-records.js';
import { EntryMapper, type EntryReceiver, type ReadOptions, SnapshotReceiver } from '../sync/read-entries.js';
import type { MappedGroup, MappedPerson, Quarantined, Snapshot } from '../map/snapshot.js';
import type { BulkSession } from './bulk-session.js';
import { RecordDigests } from './record-digests.js';
import { Staging } from './staging.js';

/** Entries and references of groups above which a run is one in bulk, with bounded memory. */
export const BULK_LIMIT = 20_000;
/** References take a tenth of the memory of an entry. */
const REFERENCES_OF_ENTRY = 10;

/** The entries of a whole source: in memory, or in tables. */
type WholeContent =
  | { readonly session: null; readonly snapshot: Snapshot }
  | { readonly session: BulkSession; readonly quarantined: readonly Quarantined[] };

interface WholeOptions extends ReadOptions {
  /** The number of entries from which on they are staged. */
  readonly limit: number;
  /** The number of mirrored entries. */
  readonly mirrored: number;
  /** See RecordDigests. */
  readonly model: string;
}

/**
 * Reads a whole source, and stages its entries from a number of them on.
 * @param session null if entries must stay in memory
 */
export async function readWhole(
  source: DirectorySource,
  session: BulkSession | null,
  options: WholeOptions,
): Promise<WholeContent> {
  try {
    if (source.readRecords !== undefined && session !== null)
      return await readRecords(source.readRecords(), session, options);
  } catch (error) {
    if (!(error instanceof IrregularRecordsError || error instanceof LdifError)) throw error;
    await session?.close();
  }
  return readRecords(recordsOfEntries(source.read(options.signal)), session, options);
}

async function readRecords(
  batches: AsyncIterable<readonly SourceRecord[]>,
  session: BulkSession | null,
  options: WholeOptions,
): Promise<WholeContent> {
  const receiver = new WholeReceiver(session, options);
  const mapper = new EntryMapper(receiver, options);
  await receiver.begin();
  const take = async (records: readonly SourceRecord[]) => {
    for (const { parse, digest } of records) {
      const entry = parse();
      if (entry !== null) await mapper.take(entry, digest);
    }
  };
  let former: Promise<readonly SourceRecord[]> = Promise.resolve([]);
  for await (const records of batches) {
    // PostgreSQL compares the digests of these records while the ones before are mapped.
    const others = receiver.withoutUnchanged(records);
    // The next wait throws the error.
    others.catch(() => undefined);
    await take(await former);
    former = others.then((changed) => {
      mapper.noteRead(records.length - changed.length);
      return changed;
    });
    former.catch(() => undefined);
  }
  await take(await former);
  await mapper.finish();
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
  /** Of the entries that are kept. */
  private readonly digests = new Map<MappedPerson | MappedGroup, string>();
  /** Null if entries must stay in memory. */
  private readonly session: BulkSession | null;
  /** Whether rows of a large mirror can be equal to entries. */
  private readonly hasRows: boolean;

  constructor(
    session: BulkSession | null,
    private readonly options: WholeOptions,
  ) {
    const { mapping, mirrored, limit } = options;
    // Users who name their groups are members only if the whole directory is known.
    this.session = mapping.users.memberOf === undefined ? session : null;
    this.hasRows = mirrored > limit;
  }

  /** Stages entries from the first one on if rows can be equal to them. */
  async begin(): Promise<void> {
    if (this.hasRows && this.session !== null) this.staging = await this.stage(this.session);
  }

  /** Stages the entries that equal their rows. Returns the records of all others. */
  async withoutUnchanged(records: readonly SourceRecord[]): Promise<readonly SourceRecord[]> {
    return this.hasRows && this.staging !== null ? this.staging.stageUnchanged(records) : records;
  }

  async addPerson(person: MappedPerson, digest: string | null): Promise<void> {
    if (this.staging !== null) return this.staging.addPerson(person, digest);
    this.kept.addPerson(person);
    await this.keep(person, digest, 1);
  }

  async addGroup(group: MappedGroup, digest: string | null): Promise<void> {
    if (this.staging !== null) return this.staging.addGroup(group, digest);
    this.kept.addGroup(group);
    await this.keep(group, digest, 1 + group.references.size / REFERENCES_OF_ENTRY);
  }

  private async keep(
    entry: MappedPerson | MappedGroup,
    digest: string | null,
    weight: number,
  ): Promise<void> {
    if (this.session === null) return;
    if (digest !== null) this.digests.set(entry, digest);
    this.weight += weight;
    if (this.weight > this.options.limit) this.staging = await this.stage(this.session);
  }

  private async stage(session: BulkSession): Promise<Staging> {
    const { mapping, model } = this.options;
    const staging = await Staging.begin(await session.open(), mapping, new RecordDigests(model));
    const digestOf = (entry: MappedPerson | MappedGroup) => this.digests.get(entry) ?? null;
    for (const person of this.kept.people) await staging.addPerson(person, digestOf(person));
    for (const group of this.kept.groups) await staging.addGroup(group, digestOf(group));
    this.kept = new SnapshotReceiver();
    this.digests.clear();
    return staging;
  }
}
