import { storedName } from '../../common/field.js';
import { foldId } from '../../common/identity.js';
import { type DirectoryMapping } from '../../config/model/mapping.js';
import type { WrittenColumn } from '../../database/fields/field-columns.js';
import { referenceFields } from '../../database/fields/field-references.js';
import type { Writer } from '../../database/statements/statement.js';
import { storedKeyOf } from '../../sources/reference-key.js';
import type { EntryKind, SourceRecord } from '../../sources/source.js';
import { groupColumns, personColumns } from '../apply/apply-entries.js';
import { hashGroup, hashPerson } from '../map/content-hash.js';
import { keysOfEntry, namedByMasksOf, type NamedByMasks } from '../map/named-by.js';
import type { MappedGroup, MappedPerson } from '../map/snapshot.js';
import { type LackingBits, lackingBits, type LackingOf, lacksAny } from '../plan/attribute-losses.js';
import type { Hashed, HashedGroup } from '../plan/plan.js';
import { readStoredEntries } from '../plan/stored.js';
import { type RecordDigests, SWEEP } from './record-digests.js';
import { columnsNamed, StagedRows } from './staged-rows.js';

/** Entries, and references of groups, that are compared and written together. */
const BATCH = 250;
const REFERENCE_BATCH = 5000;

interface StagedEntry<Entry> {
  readonly entry: Entry;
  readonly isNew: boolean;
}

/** An entry that is read, and the digest of its record; null: no run may rely on it. */
interface Read<Entry> {
  readonly entry: Entry;
  readonly digest: string | null;
}

/**
 * The entries of a bulk run, in temporary tables of one session. It compares entries as they are read, and keeps those that
 * differ from the mirror; of others only what identifies them.
 */
export class Staging {
  private readonly entries = new StagedRows(
    'staged_entries',
    columnsNamed<{ kind: EntryKind; uuid: string; dn: string; id_folded: string }>({
      kind: 'text',
      uuid: 'uuid',
      dn: 'text',
      id_folded: 'text',
    }),
  );
  private readonly keys = new StagedRows(
    'staged_keys',
    columnsNamed<{ kind: EntryKind; uuid: string; key: string }>({ kind: 'text', uuid: 'uuid', key: 'uuid' }),
  );
  private readonly users: StagedRows<StagedEntry<Hashed<MappedPerson>>>;
  private readonly groups: StagedRows<StagedEntry<HashedGroup>>;
  private readonly regrouped = new StagedRows(
    'staged_regrouped',
    columnsNamed<{ uuid: string; is_new: boolean; references_hash: Buffer }>({
      uuid: 'uuid',
      is_new: 'boolean',
      references_hash: 'bytea',
    }),
  );
  private readonly references = new StagedRows(
    'staged_references',
    columnsNamed<{ group_uuid: string; key: string; named_as: number }>({
      group_uuid: 'uuid',
      key: 'uuid',
      named_as: 'smallint',
    }),
  );
  private readonly fieldReferences = new StagedRows(
    'staged_field_references',
    columnsNamed<{ kind: EntryKind; uuid: string; field: string; target: string }>({
      kind: 'text',
      uuid: 'uuid',
      field: 'text',
      target: 'text',
    }),
  );
  private readonly lacking = new StagedRows(
    'staged_lacking',
    columnsNamed<{ kind: EntryKind; uuid: string; lacks: LackingBits }>({
      kind: 'text',
      uuid: 'uuid',
      lacks: 'varbit',
    }),
  );
  private readonly masks: NamedByMasks;
  private readonly fields: Readonly<Record<EntryKind, readonly string[]>>;
  private readonly lackingBits: LackingOf;
  private people: Read<MappedPerson>[] = [];
  private groupsRead: Read<MappedGroup>[] = [];
  private referenceCount = 0;
  private writing: Promise<void> = Promise.resolve();

  private constructor(
    private readonly writer: Writer,
    private readonly mapping: DirectoryMapping,
    private readonly digests: RecordDigests,
  ) {
    this.users = new StagedRows('staged_users', [isNew, ...personColumns(mapping, null).map(ofEntry)]);
    this.groups = new StagedRows('staged_groups', [isNew, ...groupColumns(mapping, null).map(ofEntry)]);
    this.masks = namedByMasksOf(mapping.groups);
    this.fields = {
      person: referenceFields(mapping.users.fields).map(storedName),
      group: referenceFields(mapping.groups.fields).map(storedName),
    };
    this.lackingBits = lackingBits(mapping);
  }

  /** @param writer of one session, in which nothing else uses temporary tables */
  static async begin(writer: Writer, mapping: DirectoryMapping, digests: RecordDigests): Promise<Staging> {
    const staging = new Staging(writer, mapping, digests);
    for (const rows of staging.tables) await rows.create(writer);
    return staging;
  }

  /** Stages the entries that equal their rows. Returns the records of all others, in their order. */
  stageUnchanged(records: readonly SourceRecord[]): Promise<SourceRecord[]> {
    return this.digests.stageUnchanged(this.writer, records, this.masks);
  }

  async addPerson(entry: MappedPerson, digest: string | null): Promise<void> {
    this.people.push({ entry, digest });
    await this.flushIfFull();
  }

  async addGroup(entry: MappedGroup, digest: string | null): Promise<void> {
    this.groupsRead.push({ entry, digest });
    this.referenceCount += entry.references.size;
    await this.flushIfFull();
  }

  /** Writes what is left, and counts the rows for the planner of PostgreSQL. */
  async finish(): Promise<void> {
    await this.flush();
    await this.writing;
    await this.writer.query(`analyze ${this.tables.map(({ table }) => table).join(', ')}`);
    await this.writer.query(SWEEP);
  }

  private get tables() {
    const { entries, keys, users, groups, regrouped, references, fieldReferences, lacking } = this;
    return [entries, keys, users, groups, regrouped, references, fieldReferences, lacking];
  }

  private async flushIfFull(): Promise<void> {
    const isFull =
      this.people.length + this.groupsRead.length >= BATCH || this.referenceCount >= REFERENCE_BATCH;
    if (isFull) await this.flush();
  }

  /** Waits for the previous batch, and writes this one while the next entries are read. */
  private async flush(): Promise<void> {
    await this.writing;
    const { people, groupsRead } = this;
    this.people = [];
    this.groupsRead = [];
    this.referenceCount = 0;
    this.writing = this.write(people, groupsRead);
    // The next wait throws the error.
    this.writing.catch(() => undefined);
  }

  private async write(
    people: readonly Read<MappedPerson>[],
    groups: readonly Read<MappedGroup>[],
  ): Promise<void> {
    const stored = await readStoredEntries(this.writer, {
      people: people.map(({ entry }) => entry.uuid),
      groups: groups.map(({ entry }) => entry.uuid),
    });
    for (const { entry, digest } of people) {
      const hashed = hashPerson(entry, this.mapping.users.fields);
      this.digests.add('person', hashed, digest);
      this.stagePerson(hashed, stored.people.get(entry.uuid));
    }
    for (const { entry, digest } of groups) {
      const hashed = hashGroup(entry, this.mapping.groups.fields);
      this.digests.add('group', hashed, digest);
      this.stageGroup(hashed, stored.groups.get(entry.uuid));
    }
    for (const rows of this.tables) await rows.flush(this.writer);
    await this.digests.flush(this.writer);
  }

  private stagePerson(hashed: Hashed<MappedPerson>, row: { readonly contentHash: Buffer } | undefined): void {
    const { value: person, contentHash } = hashed;
    this.addIdentity('person', person);
    if (row?.contentHash.equals(contentHash) === true) return;
    this.users.add({ entry: hashed, isNew: row === undefined });
    this.addReferences('person', person);
    if (row !== undefined) this.addLacking('person', person.uuid, this.lackingBits.person(person));
  }

  private stageGroup(
    hashed: HashedGroup,
    row: { contentHash: Buffer; referencesHash: Buffer } | undefined,
  ): void {
    const { value: group, contentHash, referencesHash } = hashed;
    this.addIdentity('group', group);
    const isNewGroup = row === undefined;
    const isUpdated = row?.contentHash.equals(contentHash) !== true;
    const isRegrouped = row?.referencesHash.equals(referencesHash) !== true;
    if (isUpdated) {
      this.groups.add({ entry: hashed, isNew: isNewGroup });
      this.addReferences('group', group);
    }
    if (isRegrouped) {
      this.regrouped.add({ uuid: group.uuid, is_new: isNewGroup, references_hash: referencesHash });
      for (const [key, namedAs] of group.references)
        this.references.add({ group_uuid: group.uuid, key: storedKeyOf(key), named_as: namedAs });
    }
    if (!isNewGroup && (isUpdated || isRegrouped))
      this.addLacking('group', group.uuid, this.lackingBits.group(group));
  }

  private addIdentity(kind: EntryKind, { uuid, dn, dnKey, id }: MappedPerson | MappedGroup): void {
    this.entries.add({ kind, uuid, dn: dn.replaceAll('\0', '\uFFFD'), id_folded: foldId(id) });
    for (const key of keysOfEntry(kind, { uuid, dnKey, id }, this.masks))
      this.keys.add({ kind, uuid, key: storedKeyOf(key) });
  }

  private addReferences(kind: EntryKind, entry: MappedPerson | MappedGroup): void {
    for (const field of this.fields[kind])
      for (const target of (entry[field] ?? []) as readonly string[])
        this.fieldReferences.add({ kind, uuid: entry.uuid, field, target });
  }

  private addLacking(kind: EntryKind, uuid: string, lacks: LackingBits): void {
    if (lacksAny(lacks)) this.lacking.add({ kind, uuid, lacks });
  }
}

const isNew: WrittenColumn<StagedEntry<unknown>> = {
  name: 'is_new',
  type: 'boolean',
  valueOf: (staged) => staged.isNew,
};

function ofEntry<Entry>({ name, type, valueOf }: WrittenColumn<Entry>): WrittenColumn<StagedEntry<Entry>> {
  return { name, type, valueOf: ({ entry }) => valueOf(entry) };
}
