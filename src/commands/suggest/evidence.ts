import { createReadStream } from 'node:fs';
import { buildMapping } from '../../config/model/build-mapping.js';
import { PRESET_NAMES } from '../../config/model/presets/presets.js';
import type { DirectoryConfig, LdapSourceConfig } from '../../config/settings/directory.js';
import {
  type LdapConnection,
  readOne,
  type SearchRequest,
  type ServerKind,
} from '../../ldap/client/ldap-connection.js';
import { LdapResultError, ResultCode } from '../../ldap/client/ldap-error.js';
import { hasRanges, parseRange } from '../../ldap/client/paged-search.js';
import { readRootDse } from '../../ldap/client/server-kind.js';
import { decodeUtf8, Entry } from '../../ldap/entry.js';
import { parseFilter } from '../../ldap/filter/filter.js';
import { readLdif } from '../../ldap/ldif/ldif.js';
import { escapeDnValue, InvalidDnError, isBelow, parseDn } from '../../ldap/naming/dn.js';
import { keyOfDn } from '../../ldap/naming/identifiers.js';
import { connect } from '../../sources/ldap/ldap-servers.js';
import { type EntryKind, KINDS } from '../../sources/directory.js';

/** Shows how many entries were read. */
export type Progress = (entries: number) => void;

/** Entries of one kind, and where they are. */
interface Sample {
  readonly entries: readonly Entry[];
  /** The containers below which entries of the kind are, relative to the base DN. Empty: the base DN itself. */
  readonly bases: readonly string[];
}

/** What is known about a directory without a model: a part of its entries. */
export interface Evidence {
  readonly server: ServerKind | 'file';
  readonly baseDn: string;
  readonly users: Sample;
  readonly groups: Sample;
  /** How the directory spells the names of attributes, by name in lower case. */
  readonly names: ReadonlyMap<string, string>;
  /** The kinds of the sampled entries, by keyOfDn. */
  readonly targets: ReadonlyMap<string, EntryKind>;
}

/** An attribute of the sampled entries. */
export interface FoundAttribute {
  /** See attributeKey. */
  readonly key: string;
  /** The name as the directory spells it, or the key. */
  readonly name: string;
  /** The number of entries that have the attribute. */
  readonly count: number;
  /** Distinct values without surrounding white space, a bounded number of them. Null: some are not text. */
  readonly values: readonly string[] | null;
  /** Whether an entry has several values. */
  readonly isMultiple: boolean;
}

/** Object classes of each kind. The first that an entry has selects it. */
const CLASSES: Readonly<Record<EntryKind, readonly string[]>> = {
  person: ['inetOrgPerson', 'user', 'posixAccount', 'organizationalPerson', 'person'],
  group: [
    ...['groupOfNames', 'groupOfUniqueNames', 'groupOfMembers', 'groupOfEntries', 'group', 'posixGroup'],
    ...['univentionGroup', 'groupOfURLs'],
  ],
};
/** The object class of computers of Active Directory, which have a class of people. */
const NO_PERSON = 'computer';

/** The kind of an entry by its object classes. Null: neither. */
function kindOf(entry: Entry): EntryKind | null {
  const classes = classesOf(entry);
  const has = (names: readonly string[]) => names.some((name) => classes.has(name.toLowerCase()));
  if (has(CLASSES.group)) return 'group';
  return has(CLASSES.person) && !classes.has(NO_PERSON) ? 'person' : null;
}

/** The shortest filter by object classes that selects all entries. */
export function filterOf(kind: EntryKind, entries: readonly Entry[]): string {
  const needed = new Set<string>();
  for (const entry of entries) {
    const classes = classesOf(entry);
    const names = CLASSES[kind].filter((each) => classes.has(each.toLowerCase()));
    if (names[0] !== undefined && !names.some((name) => needed.has(name))) needed.add(names[0]);
  }
  const [first = CLASSES[kind][0] ?? '', ...others] = needed;
  const filter = others.length === 0 ? `(objectClass=${first})` : anyOf([first, ...others]);
  const hasComputers = entries.some((entry) => entry.bytes('sAMAccountType').length > 0);
  return needed.has('user') && hasComputers ? `(&${filter}(!(objectClass=${NO_PERSON})))` : filter;
}

/** The object classes that most groups have, without `top`, as a new group gets them. */
export function usualClasses(entries: readonly Entry[]): string[] {
  const lists = entries.map((entry) => entry.text('objectClass').filter(isClass).join(' '));
  const countOf = (list: string) => lists.filter((each) => each === list).length;
  const [most = ''] = lists.toSorted((left, right) => countOf(right) - countOf(left));
  return most
    .split(' ')
    .filter((name) => name !== '')
    .slice(0, 20);
}

const isClass = (name: string) => /^(?!top$)[A-Za-z][A-Za-z0-9-]*$/i.test(name);

function classesOf(entry: Entry): Set<string> {
  return new Set(entry.text('objectClass').map((name) => name.toLowerCase()));
}

function anyOf(names: readonly string[]): string {
  return `(|${names.map((name) => `(objectClass=${name})`).join('')})`;
}

/** Attributes with the identity and the times of entries, which servers return only if they are named. */
const REQUESTED: readonly string[] = PRESET_NAMES.map(
  (name) => buildMapping({ server: name }, '').users,
).flatMap(({ uuid, createdAt, modifiedAt }) => [uuid, createdAt, modifiedAt]);

/** The largest number of users, and of groups, that are read whole. */
const MOST_ENTRIES = 200;
/** The number of entries that are read of each further container. */
const FEW_ENTRIES = 5;
/** The largest number of distinct values of an attribute by which its type is guessed, and the longest value. */
const MOST_VALUES = 1000;
const LONGEST = 10_000;

/** Counts the attributes of entries, in the order of their keys. */
export function countAttributes(
  entries: readonly Entry[],
  names: Evidence['names'],
): ReadonlyMap<string, FoundAttribute> {
  const keys = new Set(entries.flatMap((entry) => [...entry.attributes.keys()]));
  return new Map(
    [...keys].sort().map((key) => {
      const having = entries.map((entry) => entry.bytes(key)).filter(({ length }) => length > 0);
      const [type = key, ...options] = key.split(';');
      return [
        key,
        {
          key,
          name: [names.get(type) ?? type, ...options].join(';'),
          count: having.length,
          values: textsOf(having.flat()),
          isMultiple: having.some(({ length }) => length > 1),
        },
      ];
    }),
  );
}

function textsOf(values: readonly Buffer[]): string[] | null {
  const texts = new Set<string>();
  for (const bytes of values.slice(0, MOST_VALUES)) {
    const text = decodeUtf8(bytes);
    if (text === null || text.length > LONGEST || /[^\P{Cc}\t\r\n]/u.test(text)) return null;
    if (text.trim() !== '') texts.add(text.trim());
  }
  return [...texts];
}

/** Whether a text is the DN of an entry below the base DN. */
export function isDnBelow(text: string, baseDn: string): boolean {
  if (!text.includes('=')) return false;
  try {
    return parseDn(text).length > parseDn(baseDn).length && isBelow(text, baseDn);
  } catch (error) {
    if (error instanceof InvalidDnError) return false;
    throw error;
  }
}

/** Entries of each kind by the container below the base DN, which is relative to it. Empty: directly below the base DN. */
type Places = Readonly<Record<EntryKind, Map<string, Entry[]>>>;

/**
 * Reads a part of the entries of a directory.
 * @throws {LdifError} {LdapError}; the signal's reason
 */
export async function readEvidence(
  { source, baseDn }: Pick<DirectoryConfig, 'source' | 'baseDn'>,
  progress: Progress,
  signal: AbortSignal,
): Promise<Evidence> {
  const { server, names, places } =
    source.kind === 'file'
      ? await readFile(source.file, baseDn, progress)
      : await readServer(source, baseDn, progress, signal);
  const direct = KINDS.flatMap((kind) => places[kind].get('') ?? []).map(({ dn }) => keyOfDn(dn));
  const sampleOf = (kind: EntryKind): Sample => {
    const found = [...places[kind]];
    const share = Math.ceil(MOST_ENTRIES / Math.max(1, found.length));
    const entries = found.flatMap(([, known]) => known.slice(0, share)).slice(0, MOST_ENTRIES);
    // Entries directly below the base DN make it the base. A container that is a user or a group is personal data, and no base.
    const isWhole = found.some(([place]) => place === '' || direct.includes(keyOfDn(`${place},${baseDn}`)));
    return { entries, bases: isWhole || found.length === 0 ? [''] : found.map(([place]) => place).sort() };
  };
  const [users, groups] = [sampleOf('person'), sampleOf('group')];
  const targets = new Map(
    [...users.entries, ...groups.entries].map((entry) => [keyOfDn(entry.dn), kindOf(entry) ?? 'person']),
  );
  return { server, baseDn, names, users, groups, targets };
}

async function readFile(file: string, baseDn: string, progress: Progress) {
  const names = new Map<string, string>();
  const places: Places = { person: new Map(), group: new Map() };
  let count = 0;
  for await (const entry of readLdif(withNames(createReadStream(file) as AsyncIterable<Buffer>, names))) {
    progress(++count);
    const kind = kindOf(entry);
    if (kind === null || !isDnBelow(entry.dn, baseDn)) continue;
    const rdns = parseDn(entry.dn);
    const depth = rdns.length - parseDn(baseDn).length;
    const place = depth < 2 ? '' : rdnText(rdns[depth - 1] ?? []);
    const known = places[kind].get(place) ?? [];
    if (known.length < MOST_ENTRIES) known.push(entry);
    places[kind].set(place, known);
  }
  return { server: 'file' as const, names, places };
}

function rdnText(rdn: ReturnType<typeof parseDn>[number]): string {
  const textOf = (value: string | Buffer) =>
    typeof value === 'string' ? escapeDnValue(value) : `#${value.toString('hex')}`;
  return rdn.map(({ type, value }) => `${type}=${textOf(value)}`).join('+');
}

/** Keeps how the lines spell the names of attributes, which entries have in lower case. */
async function* withNames(chunks: AsyncIterable<Buffer>, names: Map<string, string>): AsyncGenerator<Buffer> {
  for await (const chunk of chunks) {
    const lines = chunk.toString('latin1');
    for (const [, name = ''] of lines.matchAll(/\n([A-Za-z][A-Za-z0-9-]{0,100})(?:;[A-Za-z0-9;-]{0,100})?:/g))
      names.set(name.toLowerCase(), name);
    yield chunk;
  }
}

const CONTAINERS = parseFilter(
  anyOf([
    ...['organizationalUnit', 'organization', 'locality', 'domain', 'dcObject'],
    ...['container', 'nsContainer', 'builtinDomain'],
  ]),
);
/** The largest number of containers in which entries are searched. */
const MOST_CONTAINERS = 200;
/** A container with copies of entries: the compatibility tree of FreeIPA. */
const COPIES = 'cn=compat';

/** Reads a part of the entries of a server, with the kinds of requests that every server answers. */
async function readServer(source: LdapSourceConfig, baseDn: string, progress: Progress, signal: AbortSignal) {
  const connection = await connect(source, signal);
  try {
    const { kind: server, subschema } = await readRootDse(connection, { signal });
    const list = { base: baseDn, scope: 'one', filter: CONTAINERS, attributes: ['1.1'] } as const;
    const found = await readSome(connection, list, MOST_CONTAINERS, () => true, signal);
    const containers = found.map(({ dn }) => rdnText(parseDn(dn)[0] ?? []));
    const places: Places = { person: new Map(), group: new Map() };
    let count = 0;
    for (const kind of KINDS) {
      const read = async (place: string, scope: 'one' | 'sub') => {
        const base = place === '' ? baseDn : `${place},${baseDn}`;
        // Without a negation, because that of a class that the server does not know matches nothing (RFC 4511 §4.5.1.7).
        const filter = parseFilter(anyOf(CLASSES[kind]));
        const request = { base, scope, filter, attributes: ['*', ...new Set(REQUESTED)] };
        const isOfKind = (entry: Entry) => kindOf(entry) === kind;
        // Entries can have large photos.
        const most = count < 3 * MOST_ENTRIES ? MOST_ENTRIES : FEW_ENTRIES;
        const entries = await readSome(connection, request, most, isOfKind, signal);
        progress((count += entries.length));
        if (entries.length > 0) places[kind].set(place, entries);
      };
      await read('', 'one');
      for (const place of containers) if (place.toLowerCase() !== COPIES) await read(place, 'sub');
      if (places[kind].size === 0) await read('', 'sub');
    }
    return { server, places, names: await readNames(connection, subschema, signal) };
  } finally {
    connection.close();
  }
}

/** The names in the attribute types of the subschema (RFC 4512 §4.1.2); none if the account may not read it. */
async function readNames(
  connection: LdapConnection,
  subschema: string | null,
  signal: AbortSignal,
): Promise<Evidence['names']> {
  if (subschema === null) return new Map();
  const entry = await readOne(connection, subschema, ['attributeTypes'], { signal });
  const names = (entry?.text('attributeTypes') ?? []).flatMap((type) => {
    const [, list = ''] = /\bNAME\s+\(?\s*((?:'[^']*'\s*)+)/.exec(type.slice(0, LONGEST)) ?? [];
    return [...list.matchAll(/'([A-Za-z][A-Za-z0-9-]*)'/g)].map(([, name = '']) => name);
  });
  return new Map(names.map((name) => [name.toLowerCase(), name]));
}

/** Results of a search that end it early: what was read before is a sufficient part. */
const LIMITS: readonly number[] = [
  ...[ResultCode.sizeLimitExceeded, ResultCode.timeLimitExceeded, ResultCode.adminLimitExceeded],
  ...[ResultCode.noSuchObject, ResultCode.insufficientAccessRights],
];

async function readSome(
  connection: LdapConnection,
  request: SearchRequest,
  most: number,
  isWanted: (entry: Entry) => boolean,
  signal: AbortSignal,
): Promise<Entry[]> {
  const entries: Entry[] = [];
  try {
    for await (const message of connection.search(request, { signal })) {
      if (message.kind === 'entry' && isWanted(message.entry)) entries.push(withoutRanges(message.entry));
      if (entries.length >= most) break;
    }
  } catch (error) {
    if (!(error instanceof LdapResultError) || !LIMITS.includes(error.code)) throw error;
  }
  return entries;
}

/** A part of the values of an attribute is sufficient. */
function withoutRanges(entry: Entry): Entry {
  if (!hasRanges(entry)) return entry;
  return new Entry(
    entry.dn,
    [...entry.attributes].map(([key, values]) => [parseRange(key)?.attribute ?? key, values] as const),
  );
}
