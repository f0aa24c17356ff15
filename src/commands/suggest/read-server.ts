import type { LdapSourceConfig } from '../../config/settings/directory.js';
import { type LdapConnection, readOne, type SearchRequest } from '../../ldap/client/ldap-connection.js';
import { LdapResultError, ResultCode } from '../../ldap/client/ldap-error.js';
import { readRootDse } from '../../ldap/client/server-kind.js';
import { hasRanges, parseRange } from '../../ldap/client/paged-search.js';
import { Entry } from '../../ldap/entry.js';
import { parseFilter } from '../../ldap/filter/filter.js';
import { keyOfDn } from '../../ldap/naming/identifiers.js';
import { connect } from '../../sources/ldap/ldap-servers.js';
import { type EntryKind } from '../../sources/directory.js';
import { parseAttributeTypes } from './attribute-types.js';
import { filterOfKind, kindOf } from './entry-classes.js';
import { countAttributes, type Evidence, MOST_ENTRIES, type Sample } from './evidence.js';
import { REQUESTED } from './guess-entries.js';
import { isDnBelow, MOST_TARGETS } from './guess-type.js';
import { firstRdn } from './read-file.js';

const CONTAINERS = parseFilter(
  `(|${[
    'organizationalUnit',
    'organization',
    'locality',
    'domain',
    'dcObject',
    'container',
    'nsContainer',
    'builtinDomain',
  ]
    .map((name) => `(objectClass=${name})`)
    .join('')})`,
);
/** The largest number of containers in which entries are searched. */
const MOST_CONTAINERS = 200;
/** Containers with copies of entries: the compatibility tree of FreeIPA. */
const COPIES: readonly string[] = ['cn=compat'];

/** Results of a search that end it early: what was read before is a sufficient part. */
const LIMITS: readonly number[] = [
  ...[ResultCode.sizeLimitExceeded, ResultCode.timeLimitExceeded, ResultCode.adminLimitExceeded],
  ...[ResultCode.noSuchObject, ResultCode.insufficientAccessRights],
];

/**
 * Reads a part of the entries of a server, with the kinds of requests that every server answers.
 * @throws {LdapError} when no server accepts the account, or the connection ends; the signal's reason
 */
export async function readServerEvidence(
  source: LdapSourceConfig,
  baseDn: string,
  signal: AbortSignal,
): Promise<Evidence> {
  const connection = await connect(source, signal);
  try {
    const { kind: server, subschema } = await readRootDse(connection, { signal });
    const reading = new ServerReading(connection, baseDn, signal);
    const users = await reading.sample('person');
    const groups = await reading.sample('group');
    const types = await reading.readTypes(subschema);
    const targets = await reading.readTargets([...users.entries, ...groups.entries]);
    return { server, baseDn, users, groups, types, targets };
  } finally {
    connection.close();
  }
}

class ServerReading {
  private containers: readonly string[] | null = null;

  constructor(
    private readonly connection: LdapConnection,
    private readonly baseDn: string,
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

  /** The attribute types of the subschema; none if the account may not read it. */
  async readTypes(subschema: string | null): Promise<Evidence['types']> {
    if (subschema === null) return new Map();
    const entry = await readOne(this.connection, subschema, ['attributeTypes'], { signal: this.signal });
    return parseAttributeTypes(entry?.text('attributeTypes') ?? []);
  }

  /** Reads the kinds of some entries that the values of each attribute name. */
  async readTargets(entries: readonly Entry[]): Promise<Evidence['targets']> {
    const targets = new Map<string, EntryKind>();
    for (const entry of entries) setKind(targets, entry);
    for (const { values } of countAttributes(entries, new Map()).values()) {
      const named = (values ?? []).filter((value) => isDnBelow(value, this.baseDn)).slice(0, MOST_TARGETS);
      for (const dn of named.filter((each) => !targets.has(keyOfDn(each)))) {
        const entry = await readOne(this.connection, dn, ['objectClass'], { signal: this.signal });
        if (entry !== null) setKind(targets, entry, keyOfDn(dn));
      }
    }
    return targets;
  }

  private async listContainers(): Promise<readonly string[]> {
    if (this.containers !== null) return this.containers;
    const request = { base: this.baseDn, scope: 'one', filter: CONTAINERS, attributes: ['1.1'] } as const;
    const entries = await this.readSome(request, MOST_CONTAINERS);
    const names = entries.map(({ dn }) => firstRdn(dn));
    this.containers = names.filter((name) => !COPIES.includes(name.toLowerCase())).sort();
    return this.containers;
  }

  private async readSome(
    request: SearchRequest,
    most: number,
    isWanted: (entry: Entry) => boolean = () => true,
  ): Promise<Entry[]> {
    const entries: Entry[] = [];
    try {
      for await (const message of this.connection.search(request, {
        signal: this.signal,
      })) {
        if (message.kind === 'entry' && isWanted(message.entry)) entries.push(withoutRanges(message.entry));
        if (entries.length >= most) break;
      }
    } catch (error) {
      if (!(error instanceof LdapResultError) || !LIMITS.includes(error.code)) throw error;
    }
    return entries;
  }
}

function setKind(targets: Map<string, EntryKind>, entry: Entry, key = keyOfDn(entry.dn)): void {
  const kind = kindOf(entry);
  if (kind !== null) targets.set(key, kind);
}

/** A part of the values of an attribute is sufficient. */
function withoutRanges(entry: Entry): Entry {
  if (!hasRanges(entry)) return entry;
  return new Entry(
    entry.dn,
    [...entry.attributes].map(([key, values]) => [parseRange(key)?.attribute ?? key, values] as const),
  );
}
