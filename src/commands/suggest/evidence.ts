import { createReadStream } from 'node:fs';
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
import { escapeDnValue, parseDn } from '../../ldap/naming/dn.js';
import { keyOfDn } from '../../ldap/naming/identifiers.js';
import { connect } from '../../sources/ldap/ldap-servers.js';
import type { EntryKind } from '../../sources/source.js';
import { filterOfKind, isDnBelow, kindOf, MOST_TARGETS, REQUESTED } from './guesses.js';

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
  /** The users and groups that sampled values name, by keyOfDn. */
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

/** The largest number of users, and of groups, that are read whole. */
const MOST_ENTRIES = 200;
/** The largest number of distinct values of an attribute by which its type is guessed, and the longest value. */
const MOST_VALUES = 1000;
const LONGEST = 10_000;

/** Counts the attributes of entries, in the order of their keys (pure). */
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

/**
 * Reads a part of the entries of a directory.
 * @throws {LdifError} {LdapError}; the signal's reason
 */
export function readEvidence(
  { source, baseDn }: Pick<DirectoryConfig, 'source' | 'baseDn'>,
  progress: Progress,
  signal: AbortSignal,
): Promise<Evidence> {
  return source.kind === 'file'
    ? readFileEvidence(source.file, baseDn, progress)
    : readServerEvidence(source, baseDn, progress, signal);
}

async function readFileEvidence(file: string, baseDn: string, progress: Progress): Promise<Evidence> {
  const names = new Map<string, string>();
  const targets = new Map<string, EntryKind>();
  const places = { person: new Map<string, Entry[]>(), group: new Map<string, Entry[]>() };
  let count = 0;
  for await (const entry of readLdif(withNames(createReadStream(file) as AsyncIterable<Buffer>, names))) {
    progress(++count);
    const kind = kindOf(entry);
    if (kind === null || !isDnBelow(entry.dn, baseDn)) continue;
    targets.set(keyOfDn(entry.dn), kind);
    const place = containerOf(entry.dn, baseDn);
    const known = places[kind].get(place) ?? [];
    if (known.length < MOST_ENTRIES) known.push(entry);
    places[kind].set(place, known);
  }
  const sampleOf = (found: ReadonlyMap<string, readonly Entry[]>): Sample => {
    const share = Math.ceil(MOST_ENTRIES / Math.max(1, found.size));
    const entries = [...found.values()].flatMap((known) => known.slice(0, share)).slice(0, MOST_ENTRIES);
    // Entries directly below the base DN make it the base. A container that is a user or a group is personal data, and no base.
    const isWhole = [...found.keys()].some((place) => place === '' || targets.has(keyOfDn(`${place},${baseDn}`)));
    return { entries, bases: isWhole || found.size === 0 ? [''] : [...found.keys()].sort() };
  };
  return { server: 'file', baseDn, users: sampleOf(places.person), groups: sampleOf(places.group), names, targets };
}

/** The entry directly below the base DN that contains an entry, relative to the base DN. Empty: the base DN itself. */
function containerOf(dn: string, baseDn: string): string {
  const rdns = parseDn(dn);
  const depth = rdns.length - parseDn(baseDn).length;
  return depth < 2 ? '' : rdnText(rdns[depth - 1] ?? []);
}

function rdnText(rdn: ReturnType<typeof parseDn>[number]): string {
  return rdn
    .map(({ type, value }) => {
      const text = typeof value === 'string' ? escapeDnValue(value) : `#${value.toString('hex')}`;
      return `${type}=${text}`;
    })
    .join('+');
}

/** Keeps how the lines spell the names of attributes, which entries have in lower case. */
async function* withNames(
  chunks: AsyncIterable<Buffer>,
  names: Map<string, string>,
): AsyncGenerator<Buffer> {
  for await (const chunk of chunks) {
    const lines = chunk.toString('latin1');
    for (const [, name = ''] of lines.matchAll(/\n([A-Za-z][A-Za-z0-9-]{0,100})(?:;[A-Za-z0-9;-]{0,100})?:/g))
      names.set(name.toLowerCase(), name);
    yield chunk;
  }
}

const CONTAINERS = parseFilter(
  `(|${'organizationalUnit organization locality domain dcObject container nsContainer builtinDomain'
    .split(' ')
    .map((name) => `(objectClass=${name})`)
    .join('')})`,
);
/** The largest number of containers in which entries are searched. */
const MOST_CONTAINERS = 200;
/** A container with copies of entries: the compatibility tree of FreeIPA. */
const COPIES = 'cn=compat';

/** Results of a search that end it early: what was read before is a sufficient part. */
const LIMITS: readonly number[] = [
  ...[ResultCode.sizeLimitExceeded, ResultCode.timeLimitExceeded, ResultCode.adminLimitExceeded],
  ...[ResultCode.noSuchObject, ResultCode.insufficientAccessRights],
];

/** Reads a part of the entries of a server, with the kinds of requests that every server answers. */
async function readServerEvidence(
  source: LdapSourceConfig,
  baseDn: string,
  progress: Progress,
  signal: AbortSignal,
): Promise<Evidence> {
  const connection = await connect(source, signal);
  try {
    const { kind: server, subschema } = await readRootDse(connection, { signal });
    const reading = new ServerReading(connection, baseDn, progress, signal);
    const users = await reading.sample('person');
    const groups = await reading.sample('group');
    const names = await reading.readNames(subschema);
    const targets = await reading.readTargets([...users.entries, ...groups.entries]);
    return { server, baseDn, users, groups, names, targets };
  } finally {
    connection.close();
  }
}

class ServerReading {
  private containers: readonly string[] | null = null;
  private count = 0;

  constructor(
    private readonly connection: LdapConnection,
    private readonly baseDn: string,
    private readonly progress: Progress,
    private readonly signal: AbortSignal,
  ) {}

  /** Reads an equal part of the entries below each container that has some. */
  async sample(kind: EntryKind): Promise<Sample> {
    const below = (base: string, scope: 'one' | 'sub', most: number) => {
      const attributes = most === 1 ? ['objectClass'] : ['*', ...REQUESTED];
      const request = { base, scope, filter: parseFilter(filterOfKind(kind)), attributes };
      return this.readSome(request, most, (entry) => kindOf(entry) === kind);
    };
    const direct = await below(this.baseDn, 'one', 1);
    const bases: string[] = [];
    for (const container of direct.length === 0 ? await this.listContainers() : []) {
      const some = await below(`${container},${this.baseDn}`, 'sub', 1);
      if (some.length > 0) bases.push(container);
    }
    if (bases.length === 0) return { bases: [''], entries: await below(this.baseDn, 'sub', MOST_ENTRIES) };
    const share = Math.ceil(MOST_ENTRIES / bases.length);
    const entries: Entry[] = [];
    for (const base of bases) entries.push(...(await below(`${base},${this.baseDn}`, 'sub', share)));
    return { bases, entries: entries.slice(0, MOST_ENTRIES) };
  }

  /** The names in the attribute types of the subschema (RFC 4512 §4.1.2); none if the account may not read it. */
  async readNames(subschema: string | null): Promise<Evidence['names']> {
    if (subschema === null) return new Map();
    const entry = await readOne(this.connection, subschema, ['attributeTypes'], { signal: this.signal });
    const names = (entry?.text('attributeTypes') ?? []).flatMap((type) => {
      const [, list = ''] = /\bNAME\s+\(?\s*((?:'[^']*'\s*)+)/.exec(type.slice(0, LONGEST)) ?? [];
      return [...list.matchAll(/'([A-Za-z][A-Za-z0-9-]*)'/g)].map(([, name = '']) => name);
    });
    return new Map(names.map((name) => [name.toLowerCase(), name]));
  }

  /** Reads the kinds of some entries that the values of each attribute name. */
  async readTargets(entries: readonly Entry[]): Promise<Evidence['targets']> {
    const targets = new Map<string, EntryKind>();
    const add = (entry: Entry, key = keyOfDn(entry.dn)) => {
      const kind = kindOf(entry);
      if (kind !== null) targets.set(key, kind);
    };
    for (const entry of entries) add(entry);
    for (const { values } of countAttributes(entries, new Map()).values()) {
      const named = (values ?? []).filter((value) => isDnBelow(value, this.baseDn)).slice(0, MOST_TARGETS);
      for (const dn of named.filter((each) => !targets.has(keyOfDn(each)))) {
        const entry = await readOne(this.connection, dn, ['objectClass'], { signal: this.signal });
        if (entry !== null) add(entry, keyOfDn(dn));
      }
    }
    return targets;
  }

  private async listContainers(): Promise<readonly string[]> {
    if (this.containers !== null) return this.containers;
    const request = { base: this.baseDn, scope: 'one', filter: CONTAINERS, attributes: ['1.1'] } as const;
    const entries = await this.readSome(request, MOST_CONTAINERS, () => true);
    const names = entries.map(({ dn }) => rdnText(parseDn(dn)[0] ?? []));
    this.containers = names.filter((name) => name.toLowerCase() !== COPIES).sort();
    return this.containers;
  }

  private async readSome(
    request: SearchRequest,
    most: number,
    isWanted: (entry: Entry) => boolean,
  ): Promise<Entry[]> {
    const entries: Entry[] = [];
    try {
      for await (const message of this.connection.search(request, { signal: this.signal })) {
        if (message.kind === 'entry' && isWanted(message.entry)) entries.push(withoutRanges(message.entry));
        this.progress(++this.count);
        if (entries.length >= most) break;
      }
    } catch (error) {
      if (!(error instanceof LdapResultError) || !LIMITS.includes(error.code)) throw error;
    }
    return entries;
  }
}

/** A part of the values of an attribute is sufficient. */
function withoutRanges(entry: Entry): Entry {
  if (!hasRanges(entry)) return entry;
  return new Entry(
    entry.dn,
    [...entry.attributes].map(([key, values]) => [parseRange(key)?.attribute ?? key, values] as const),
  );
}
