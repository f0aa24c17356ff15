import { createHash, hash } from 'node:crypto';
import type { DataSource } from 'typeorm';
import { arraysOf } from '../../common/chunks.js';
import { type Field, type FieldDefinition, pictureFields, storedName } from '../../common/field.js';
import { fold } from '../../common/fold.js';
import { foldId } from '../../common/identity.js';
import {
  type DirectoryMapping,
  mappingOf,
  memberAttributesOf,
  type NamedBy,
} from '../../config/model/mapping.js';
import { writtenColumns, referenceFields } from '../../database/fields/projection.js';
import { attributeKey, decodeUtf8, type Entry } from '../../ldap/entry.js';
import { keyOfDn } from '../../ldap/naming/identifiers.js';
import { keysOfEntry, storedKeyOf, waysOfNaming } from '../../sources/references.js';
import { searchesOf } from '../../sources/ldap/server-directory.js';
import type { EntryKind } from '../../sources/directory.js';
import { lettersOf, searchPairs, searchText } from '../../database/fields/search-text.js';
import { COMPARED, comparedName, FIELD_VALUES } from '../../database/fields/filters.js';
import { inspectPicture } from '../../media/rendering/inspect-picture.js';
import type { Mapped } from '../map/entry-reader.js';
import {
  GROUP_KEYS,
  mapGroupInSteps,
  type MappedGroup,
  type MappedPerson,
  mapPerson,
  NAMED_GROUPS,
} from '../map/map.js';
import { inSteps, type Steps } from '../map/steps.js';

/** The field of the references that are the members of a group. */
export const MEMBERS = ':';

/** A value of an attribute: text, bytes that are not text in base64, or the SHA-256 of a picture in hexadecimal. */
type RawValue = string | { readonly base64: string } | { readonly sha256: string };

/** The mirrored attributes of an entry by attributeKey, as they are in LDAP, without those that name members. */
export type RawAttributes = Readonly<Record<string, readonly RawValue[]>>;

/** What an entry names: the field, the key of the target (storedKeyOf), and the roles as a sum, which fields do not have. */
type StagedReference = readonly [field: string, target: string, namedAs: number];

/** An entry of the directory as the mirror stores it: the form of the table `staged`. */
export interface StagedEntry {
  readonly kind: EntryKind;
  readonly uuid: string;
  readonly dn: string;
  readonly dnKey: string;
  readonly stamp: string;
  /** Null: the entry has no usable id. */
  readonly idFolded: string | null;
  readonly attributes: RawAttributes;
  /** A digest of all that viewers can see of the entry itself, and one of everything, in hexadecimal. */
  readonly content: string;
  readonly digest: string;
  /** Why the entry is left out, and why some of its attributes are: the ends of sentences. */
  readonly reason: string | null;
  readonly notes: readonly (readonly [attribute: string, reason: string])[];
  /** The keys by which groups and users name the entry. */
  readonly names: readonly string[];
  /** The columns of `users` or `groups` by name, as JSON; null for an entry that is left out. */
  readonly row: Readonly<Record<string, unknown>> | null;
  readonly references: readonly StagedReference[];
}

type Pictures = Pick<PictureStore, 'put' | 'flush'>;

/** Maps entries of a directory to the form in which they are staged. */
export class EntryStager {
  private readonly ways: readonly NamedBy[];
  private readonly kept: Readonly<Record<EntryKind, ReadonlySet<string>>>;
  private readonly pictureKeys: ReadonlySet<string>;
  private readonly columns: Readonly<Record<EntryKind, ReturnType<typeof columnsOf>>>;

  constructor(
    private readonly mapping: DirectoryMapping,
    private readonly pictures: Pictures,
  ) {
    this.ways = waysOfNaming(mapping.groups);
    const members = new Set(memberAttributesOf(mapping.groups).map(attributeKey));
    const searches = searchesOf(mapping, '');
    const keysOf = (kind: EntryKind) =>
      searches[kind].attributes
        .map(attributeKey)
        .filter((key) => kind === 'person' || !members.has(key))
        // Its value is the entry itself.
        .filter((key) => key !== attributeKey(mappingOf(mapping, kind).uuid) && key !== 'entrycsn');
    this.kept = { person: new Set(keysOf('person')), group: new Set(keysOf('group')) };
    this.columns = { person: columnsOf(mapping.users.fields), group: columnsOf(mapping.groups.fields) };
    this.pictureKeys = new Set(
      pictureFields(mapping.users.fields).flatMap(({ attributes }) => attributes.map(attributeKey)),
    );
  }

  /** @param uuid the identity of the entry. @param stamp that of the directory */
  async stage(kind: EntryKind, uuid: string, entry: Entry, stamp: string): Promise<StagedEntry> {
    const { users, groups } = this.mapping;
    const mapped: Mapped<MappedPerson | MappedGroup> =
      kind === 'person' ? mapPerson(entry, users) : await inSteps(mapGroupInSteps(entry, groups));
    const notes = mapped.quarantined
      .filter(({ attribute }) => attribute !== null)
      .map(({ attribute, reason }): [string, string] => [attribute ?? '', reason]);
    const reason = mapped.quarantined.find(({ attribute }) => attribute === null)?.reason ?? null;
    const shas = new Map<Buffer, string>();
    const value =
      mapped.value === null || kind === 'group'
        ? mapped.value
        : await this.withPictures(mapped.value, notes, shas);
    const references = value === null ? [] : await inSteps(this.referencesOf(kind, value));
    const dn = entry.dn.replaceAll('\0', '\uFFFD');
    const attributes = this.rawOf(kind, entry, shas);
    const row = value === null ? null : this.rowOf(kind, value);
    const content = contentOf(dn, row, this.columns[kind].compared);
    const named = await inSteps(digestOf(references));
    return {
      ...{ kind, uuid, dn, stamp, attributes, content, reason, notes, row, references },
      dnKey: value?.dnKey ?? keyOfDn(dn),
      idFolded: value === null ? null : foldId(value.id),
      digest: hash('sha256', JSON.stringify([content, attributes, reason, notes, named]), 'hex'),
      names: value === null ? [] : this.namesOf(kind, value),
    };
  }

  /** Stores the last pictures. Call it after the last entry, before the revision is written. */
  finish(): Promise<void> {
    return this.pictures.flush();
  }

  private namesOf(kind: EntryKind, value: MappedPerson | MappedGroup): string[] {
    const own = (kind === 'group' ? (value[GROUP_KEYS] ?? []) : []) as readonly string[];
    return [...new Set([value.dnKey, ...keysOfEntry(kind, value, this.ways).map(storedKeyOf), ...own])];
  }

  private *referencesOf(kind: EntryKind, value: MappedPerson | MappedGroup): Steps<StagedReference[]> {
    const references: StagedReference[] = [];
    if (kind === 'group') {
      const members = (value as MappedGroup).references;
      for (const [index, [key, namedAs]] of [...members].entries()) {
        if (index % 1000 === 999) yield;
        references.push([MEMBERS, storedKeyOf(key), namedAs]);
      }
    }
    for (const target of (value[NAMED_GROUPS] ?? []) as readonly string[])
      references.push([NAMED_GROUPS, target, 1]);
    for (const field of referenceFields(mappingOf(this.mapping, kind).fields))
      for (const target of (value[storedName(field)] ?? []) as readonly string[])
        references.push([storedName(field), target, 0]);
    return references;
  }

  /** Omits a picture that cannot be displayed, and keeps the user. */
  private async withPictures(
    user: MappedPerson | MappedGroup,
    notes: [string, string][],
    shas: Map<Buffer, string>,
  ): Promise<MappedPerson | MappedGroup> {
    const digests: Record<string, Buffer | null> = {};
    for (const { name, attribute } of pictureFields(this.mapping.users.fields)) {
      const bytes = user[name] as Buffer | null;
      const stored = bytes === null || bytes.length === 0 ? null : await this.pictures.put(bytes);
      digests[name] = stored !== null && 'sha256' in stored ? stored.sha256 : null;
      if (stored !== null && 'reason' in stored) notes.push([attribute, stored.reason]);
      if (bytes !== null && stored !== null && 'sha256' in stored)
        shas.set(bytes, stored.sha256.toString('hex'));
    }
    return { ...user, ...digests };
  }

  /** The columns of a user or group that follow from its entry, as JSON: all but counters and times of the mirror. */
  private rowOf(kind: EntryKind, value: MappedPerson | MappedGroup): Record<string, unknown> {
    const { written, searched } = this.columns[kind];
    const text = searchText(searched.flatMap((name) => [value[name] ?? []].flat().map(String)));
    const row: Record<string, unknown> = {};
    for (const [name, valueOf] of written) {
      const column = valueOf(value);
      row[name] = Buffer.isBuffer(column) ? `\\x${column.toString('hex')}` : column;
    }
    return Object.assign(row, {
      entry_uuid: value.uuid,
      id: value.id,
      id_folded: foldId(value.id),
      name: value.name,
      sort_name: sortKey(value.name),
      name_letters: lettersOf(fold(value.name)),
      search_text: text,
      search_pairs: searchPairs(text),
      visible_to: value.visibleTo ?? 0,
      created_at: value.createdAt,
      ...(kind === 'person'
        ? {
            is_active: value['active'] !== false,
            family_sort_name: typeof value['familyName'] === 'string' ? sortKey(value['familyName']) : '',
          }
        : { members_visible_to: (value as MappedGroup).membersVisibleTo ?? 0 }),
    });
  }

  private rawOf(kind: EntryKind, entry: Entry, shas: ReadonlyMap<Buffer, string>): RawAttributes {
    const raw: Record<string, readonly RawValue[]> = {};
    for (const [key, values] of entry.attributes) {
      const [type = ''] = key.split(';');
      if (values.length === 0 || !this.kept[kind].has(type)) continue;
      raw[key] = this.pictureKeys.has(type)
        ? values.map((bytes) => ({ sha256: shas.get(bytes) ?? hash('sha256', bytes, 'hex') }))
        : values.map(rawValueOf);
    }
    return raw;
  }
}

/** PostgreSQL stores no NUL in JSON. */
export function rawValueOf(bytes: Buffer): RawValue {
  const text = decodeUtf8(bytes);
  return text === null || text.includes('\0') ? { base64: bytes.toString('base64') } : text;
}

/** The bytes of a raw value. The digest of a picture stands for its bytes, which are in the table `pictures`. */
export function bytesOfRaw(value: RawValue): Buffer {
  if (typeof value === 'string') return Buffer.from(value);
  return 'base64' in value ? Buffer.from(value.base64, 'base64') : Buffer.from(value.sha256, 'hex');
}

/** Number of characters of a folded name that are used for sorting. The size of an index entry is limited. */
const SORTED_CHARACTERS = 256;

function columnsOf(fields: readonly Field[]) {
  const compared = fields.filter((field) => comparedName(field) !== null);
  return {
    written: [...writtenColumns(fields)],
    searched: fields.filter(isSearched).map(storedName),
    /** The names of texts that are compared, in JSONB and of columns. */
    compared: [
      compared.filter(({ column }) => column === null).map(storedName),
      compared.flatMap(({ column }) => column ?? []),
    ] as const,
  };
}

function sortKey(text: string): string {
  return [...fold(text).trim()].slice(0, SORTED_CHARACTERS).join('');
}

type Row = Readonly<Record<string, unknown>>;
type Compared = ReturnType<typeof columnsOf>['compared'];

/** Number of bytes of a digest of what viewers see that are of the values as they are compared: equal for all their spellings. */
export const COMPARED_BYTES = 16;

/** A digest of all that viewers see. */
function contentOf(dn: string, row: Row | null, [inJson, columns]: Compared): string {
  const values = row?.[FIELD_VALUES] as Row | null | undefined;
  const rest = { ...row, ...beyond(row, columns), [FIELD_VALUES]: { ...values, ...beyond(values, inJson) } };
  const compared = hash('sha256', JSON.stringify([dn, row === null, rest]), 'hex');
  const spelled = [...columns.map((name) => row?.[name]), ...inJson.map((name) => values?.[name])];
  const half = 2 * COMPARED_BYTES;
  return compared.slice(0, half) + hash('sha256', JSON.stringify([compared, spelled]), 'hex').slice(half);
}

/** Of texts that are compared, what is beyond the compared part. */
function beyond(values: Row | null | undefined, names: readonly string[]): Row {
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = values?.[name];
      return typeof value === 'string' ? [[name, value.slice(COMPARED)]] : [];
    }),
  );
}

/** A digest of references in any order. */
function* digestOf(references: readonly StagedReference[]): Steps<string> {
  const texts = references.map(([field, target, namedAs]) => `${target} ${field} ${namedAs}`);
  yield;
  texts.sort();
  yield;
  return hash('sha256', texts.join('\n'), 'hex');
}

/** Bytes of pictures that are written together. The driver keeps buffers of the size of the largest statement. */
const BATCH_BYTES = 250_000;
/** Maximum number of bytes of one picture. An unprocessed photo from a camera is smaller. */
const LARGEST_PICTURE = 16_000_000;

/** The result of storing a picture: its key in the store, or the reason why it is omitted. */
type StoredPicture = { readonly sha256: Buffer } | { readonly reason: string };

/** Returns the reason why a picture cannot be displayed, or null if it can. */
async function faultOfPicture(bytes: Buffer): Promise<string | null> {
  if (bytes.length > LARGEST_PICTURE) return `has more than ${LARGEST_PICTURE} bytes`;
  const inspection = await inspectPicture(bytes);
  return inspection.ok ? null : inspection.reason;
}

/** Stores pictures by SHA-256 while entries are read, so that a run does not hold them in memory. sweepPictures deletes others. */
export class PictureStore {
  private readonly known = new Set<string>();
  private allKnown = false;
  private waiting: { sha256: Buffer; bytes: Buffer }[] = [];
  private waitingBytes = 0;

  constructor(private readonly dataSource: DataSource) {}

  /** Knows all stored pictures, for runs over a whole directory: one query for each would take long. */
  static async withAllKnown(dataSource: DataSource): Promise<PictureStore> {
    const store = new PictureStore(dataSource);
    const rows: { sha256: string }[] = await dataSource.query(
      `select encode(sha256, 'hex') as sha256 from pictures`,
    );
    for (const { sha256 } of rows) store.known.add(sha256);
    store.allKnown = true;
    return store;
  }

  /** Stores a picture. A known picture is neither inspected nor written again. */
  async put(bytes: Buffer): Promise<StoredPicture> {
    const sha256 = createHash('sha256').update(bytes).digest();
    const name = sha256.toString('hex');
    if (this.known.has(name) || (await this.isStored(sha256, name))) return { sha256 };
    const reason = await faultOfPicture(bytes);
    if (reason !== null) return { reason };
    this.known.add(name);
    // The bytes are a view of a larger buffer of the file. A copy lets that buffer be released.
    this.waiting.push({ sha256, bytes: Buffer.from(bytes) });
    this.waitingBytes += bytes.length;
    if (this.waitingBytes > BATCH_BYTES) await this.flush();
    return { sha256 };
  }

  private async isStored(sha256: Buffer, name: string): Promise<boolean> {
    if (this.allKnown) return false;
    const rows: unknown[] = await this.dataSource.query('select from pictures where sha256 = $1', [sha256]);
    if (rows.length > 0) this.known.add(name);
    return rows.length > 0;
  }

  async flush(): Promise<void> {
    if (this.waiting.length === 0) return;
    const batch = this.waiting;
    this.waiting = [];
    this.waitingBytes = 0;
    await this.dataSource.query(
      `insert into pictures (sha256, bytes) select * from unnest($1::bytea[], $2::bytea[])
       on conflict on constraint pictures_pk do nothing`,
      arraysOf(batch, 'sha256', 'bytes'),
    );
  }
}

/** A search requires no scope, so that fields that require one, or that only some viewers see, are not searched. */
function isSearched({ isSearchable, scopes, visibleTo }: FieldDefinition): boolean {
  return isSearchable === true && scopes === undefined && visibleTo === undefined;
}
