import { createReadStream } from 'node:fs';
import { buildMapping } from '../../config/model/build-mapping.js';
import { PRESET_NAMES } from '../../config/model/presets/presets.js';
import type { DirectoryConfig, LdapSourceConfig } from '../../config/settings/directory.js';
import { type LdapConnection, readOne, type SearchRequest } from '../../ldap/client/ldap-connection.js';
import { LdapResultError } from '../../ldap/client/ldap-error.js';
import { readRootDse } from '../../ldap/client/server-kind.js';
import { Entry } from '../../ldap/entry.js';
import { parseFilter } from '../../ldap/filter/filter.js';
import { readLdif } from '../../ldap/ldif/ldif.js';
import { escapeDnValue, isBelow, parseDn, tryNormalizeDn } from '../../ldap/naming/dn.js';
import { keyOfDn } from '../../ldap/naming/identifiers.js';
import { connect } from '../../sources/ldap/ldap-servers.js';
import { type EntryKind, KINDS } from '../../sources/directory.js';

/** Shows how many entries were read. */
export type Progress = (entries: number) => void;

/** Entries of one kind, and where they are. */
interface Sample {
  readonly entries: readonly Entry[];
  /** The DNs of the entries, by keyOfDn. */
  readonly keys: ReadonlySet<string>;
  /** The containers below which entries of the kind are, relative to the base DN. Empty: the base DN itself. */
  readonly bases: readonly string[];
}

/** What is known about a directory without a model: a part of its entries. */
export type Evidence = Readonly<Awaited<ReturnType<typeof readEvidence>>>;

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
  if (classesOf('group', entry).length > 0) return 'group';
  return classesOf('person', entry).length > 0 && !classNames(entry).has(NO_PERSON) ? 'person' : null;
}

function classNames(entry: Entry): ReadonlySet<string> {
  return new Set(entry.text('objectClass').map((name) => name.toLowerCase()));
}

/** The object classes of a kind that an entry has. */
function classesOf(kind: EntryKind, entry: Entry): string[] {
  const names = classNames(entry);
  return CLASSES[kind].filter((name) => names.has(name.toLowerCase()));
}

/** A short filter by object classes that selects all entries. */
export function filterOf(kind: EntryKind, entries: readonly Entry[]): string {
  const needed = new Set<string>();
  for (const entry of entries) {
    const classes = classesOf(kind, entry);
    if (!classes.some((name) => needed.has(name))) for (const name of classes.slice(0, 1)) needed.add(name);
  }
  const filter = anyOf([...needed]);
  const hasComputers = entries.some((entry) => entry.bytes('sAMAccountType').length > 0);
  return needed.has('user') && hasComputers ? `(&${filter}(!(objectClass=${NO_PERSON})))` : filter;
}

function anyOf(names: readonly string[]): string {
  const terms = names.map((name) => `(objectClass=${name})`).join('');
  return names.length === 1 ? terms : `(|${terms})`;
}

/** Attributes with the identity and the times of entries, which servers return only if they are named. */
const REQUESTED: readonly string[] = PRESET_NAMES.map(
  (name) => buildMapping({ server: name }, '').users,
).flatMap(({ uuid, createdAt, modifiedAt }) => [uuid, createdAt, modifiedAt]);

/** The largest number of users, and of groups, that are read, and of each further container after them. */
const MOST_ENTRIES = 200;
const FEW_ENTRIES = 5;

/** Whether a text is the DN of an entry below the base DN. */
export function isDnBelow(text: string, baseDn: string): boolean {
  if (!text.includes('=') || tryNormalizeDn(text) === null) return false;
  return parseDn(text).length > parseDn(baseDn).length && isBelow(text, baseDn);
}

/** What was read so far. */
interface Seen {
  /** Entries of each kind by the container below the base DN, which is relative to it. Empty: directly below the base DN. */
  readonly places: Readonly<Record<EntryKind, Map<string, Entry[]>>>;
  /** How the directory spells the names of attributes, by name in lower case. */
  readonly names: Map<string, string>;
  readonly progress: Progress;
}

/**
 * Reads a part of the entries of a directory.
 * @throws {LdifError} {LdapError}; the signal's reason
 */
export async function readEvidence(
  { source, baseDn }: Pick<DirectoryConfig, 'source' | 'baseDn'>,
  progress: Progress,
) {
  const seen: Seen = { places: { person: new Map(), group: new Map() }, names: new Map(), progress };
  const { places, names } = seen;
  /** The kind, or `file`. */
  const server = await (source.kind === 'file'
    ? readFile(source.file, baseDn, seen)
    : readServer(source, baseDn, seen));
  const direct = KINDS.flatMap((kind) => places[kind].get('') ?? []).map(({ dn }) => keyOfDn(dn));
  const sampleOf = (kind: EntryKind): Sample => {
    const found = [...places[kind]];
    const share = Math.ceil(MOST_ENTRIES / Math.max(1, found.length));
    const entries = found.flatMap(([, known]) => known.slice(0, share)).slice(0, MOST_ENTRIES);
    // Entries directly below the base DN make it the base. A container that is a user or a group is personal data, and no base.
    const isWhole = found.some(([place]) => place === '' || direct.includes(keyOfDn(`${place},${baseDn}`)));
    const bases = isWhole || found.length === 0 ? [''] : found.map(([place]) => place).sort();
    return { entries, bases, keys: new Set(entries.map(({ dn }) => keyOfDn(dn))) };
  };
  return { server, baseDn, names, users: sampleOf('person'), groups: sampleOf('group') };
}

async function readFile(file: string, baseDn: string, { places, names, progress }: Seen): Promise<string> {
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
  return 'file';
}

function rdnText(rdn: ReturnType<typeof parseDn>[number]): string {
  const textOf = (value: string | Buffer) =>
    typeof value === 'string' ? escapeDnValue(value) : `#${value.toString('hex')}`;
  return rdn.map(({ type, value }) => `${type}=${textOf(value)}`).join('+');
}

/** Keeps how the lines spell the names of attributes, which entries have in lower case. */
async function* withNames(chunks: AsyncIterable<Buffer>, names: Map<string, string>): AsyncGenerator<Buffer> {
  for await (const chunk of chunks) {
    for (const [, name = ''] of chunk.toString('latin1').matchAll(/\n([A-Za-z][A-Za-z0-9-]{0,100})[:;]/g))
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

/** Reads a part of the entries of a server, with the kinds of requests that every server answers. Returns its kind. */
async function readServer(
  source: LdapSourceConfig,
  baseDn: string,
  { places, names, progress }: Seen,
): Promise<string> {
  const signal = new AbortController().signal;
  const connection = await connect(source, signal);
  try {
    const { kind: server, subschema } = await readRootDse(connection, { signal });
    const list = { base: baseDn, scope: 'one', filter: CONTAINERS, attributes: ['1.1'] } as const;
    const found = await readSome(connection, list, MOST_CONTAINERS, () => true);
    const containers = found.map(({ dn }) => rdnText(parseDn(dn)[0] ?? []));
    let count = 0;
    for (const kind of KINDS) {
      const read = async (place: string, scope: 'one' | 'sub') => {
        const base = place === '' ? baseDn : `${place},${baseDn}`;
        // Without a negation, because that of a class that the server does not know matches nothing (RFC 4511 §4.5.1.7).
        const filter = parseFilter(anyOf(CLASSES[kind]));
        const request = { base, scope, filter, attributes: ['*', ...new Set(REQUESTED)] };
        // Entries can have large photos.
        const most = count < 3 * MOST_ENTRIES ? MOST_ENTRIES : FEW_ENTRIES;
        const entries = await readSome(connection, request, most, (entry) => kindOf(entry) === kind);
        progress((count += entries.length));
        if (entries.length > 0) places[kind].set(place, entries);
      };
      await read('', 'one');
      for (const place of containers) if (place.toLowerCase() !== COPIES) await read(place, 'sub');
      if (places[kind].size === 0) await read('', 'sub');
    }
    if (subschema === null) return server;
    // The attribute types (RFC 4512 §4.1.2); none if the account may not read them.
    const entry = await readOne(connection, subschema, ['attributeTypes'], { signal });
    for (const type of entry?.text('attributeTypes') ?? []) {
      const [, spelled = ''] = /\bNAME\s+\(?\s*((?:'[^']*'\s*)+)/.exec(type.slice(0, 10_000)) ?? [];
      for (const [, name = ''] of spelled.matchAll(/'([A-Za-z][A-Za-z0-9-]*)'/g))
        names.set(name.toLowerCase(), name);
    }
    return server;
  } finally {
    connection.close();
  }
}

/** What was read before a limit, or of an entry that the account may not read, is a sufficient part. */
async function readSome(
  connection: LdapConnection,
  request: SearchRequest,
  most: number,
  isWanted: (entry: Entry) => boolean,
): Promise<Entry[]> {
  const entries: Entry[] = [];
  try {
    const { signal } = new AbortController();
    for await (const message of connection.search(request, { signal })) {
      if (message.kind === 'entry' && isWanted(message.entry)) entries.push(withoutRanges(message.entry));
      if (entries.length >= most) break;
    }
  } catch (error) {
    if (!(error instanceof LdapResultError)) throw error;
  }
  return entries;
}

/** Of a large group, Active Directory returns a part of the members, which is sufficient. */
function withoutRanges({ dn, attributes }: Entry): Entry {
  return new Entry(
    dn,
    [...attributes].map(([key, values]) => [key.replace(/;range=[^;]*/, ''), values]),
  );
}
