import { hash } from 'node:crypto';
import { chunksOf } from '../../common/chunks.js';
import { pictureFields } from '../../common/field.js';
import { type DirectoryMapping, mappingOf } from '../../config/model/mapping.js';
import type { DirectoryConfig, LdapSourceConfig } from '../../config/settings/directory.js';
import type { LdapConnection } from '../../ldap/client/ldap-connection.js';
import { attributeKey, type Entry } from '../../ldap/entry.js';
import { identityValues, uuidOfEntry } from '../../ldap/naming/entry-uuid.js';
import type { Filter } from '../../ldap/filter/filter-parser.js';
import { LdapResultError } from '../../ldap/client/ldap-error.js';
import { LimitExceededError } from '../../ldap/client/limit-error.js';
import { hasRefusedPages, readPaged } from '../../ldap/client/paged-search.js';
import type { SearchRequest } from '../../ldap/client/requests.js';
import { DYNAMIC_ATTRIBUTES, isDynamicGroup } from './dynamic-group.js';
import { containersBelow, ENTRY_CSN, isEqual, isWithin, searchesOf } from './entry-searches.js';
import { LdapServers } from './ldap-servers.js';
import { type KnownEntry, ListedEntries, readAt } from './listed-entries.js';
import { type EntryKind, KINDS } from '../source.js';
import { SourceError } from '../source.error.js';

/** The number of values in one filter. Servers limit the size of a filter. */
const VALUES_OF_FILTER = 100;
/** Number of entries that are read again together. Each may have a picture of several megabytes. */
export const READ_TOGETHER = 20;

/** The searches for the people and groups of one LDAP server, according to the mapping. */
export class LdapDirectory {
  readonly searches: Readonly<Record<EntryKind, SearchRequest>>;
  readonly containers: SearchRequest;
  readonly servers: LdapServers;
  /** How the model permits to follow the server. */
  readonly follow: DirectoryConfig['follow'];
  /** The attribute of the identifier, the same for both kinds. */
  readonly uuid: string;
  private readonly mapping: DirectoryMapping;
  /** The attribute of the time of the last change, the same for both kinds. */
  private readonly modifiedAt: string;
  private readonly pictures: ReadonlySet<string>;
  private refusesInstants = false;
  /** Whether the server records no changes, so that entries are compared by a hash of all attributes but pictures. */
  isHashed = false;
  /** Whether the account sees no identifiers. A server that is compared by hashes then finds entries by their DNs. */
  isNamedByDn = false;
  private readonly listed: ListedEntries;
  /** What else the server has refused, and the alternatives, one sentence each: a way to report changes. */
  readonly refused = new Set<string>();

  constructor({ baseDn, mapping, follow }: DirectoryConfig, source: LdapSourceConfig) {
    this.servers = new LdapServers(source);
    this.mapping = mapping;
    this.follow = follow;
    ({ uuid: this.uuid, modifiedAt: this.modifiedAt } = mapping.users);
    this.searches = searchesOf(mapping, baseDn);
    this.listed = new ListedEntries(this.searches);
    this.pictures = new Set(
      pictureFields(mapping.users.fields).map(({ attribute }) => attributeKey(attribute)),
    );
    this.containers = containersBelow(baseDn);
  }

  /** Whether an entry that a search of a kind found is below one of the bases of the kind. */
  covers(kind: EntryKind, dn: string): boolean {
    return isWithin(mappingOf(this.mapping, kind), dn);
  }

  hasIdentity(entry: Entry): boolean {
    return entry.bytes(this.uuid).length > 0;
  }

  /** The identifier that the server shows; null when it hides it, or it is not valid. */
  identityOf(entry: Entry): string | null {
    return this.hasIdentity(entry) ? uuidOfEntry(entry, this.uuid) : null;
  }

  /**
   * Reads entries by their identifiers. Entries that do not exist, or that the filters do not select, are
   * omitted.
   */
  async readAgain(connection: LdapConnection, uuids: readonly string[]): Promise<KnownEntry[]> {
    if (this.isNamedByDn) return this.listed.readAgain(connection, uuids);
    const found: KnownEntry[] = [];
    for (const some of chunksOf(uuids, VALUES_OF_FILTER)) {
      const filters = some
        .flatMap((uuid) => identityValues(uuid, this.uuid))
        .map((value) => isEqual(this.uuid, value));
      for (const kind of KINDS) {
        for await (const each of this.readChosen(connection, kind, { kind: 'or', filters })) found.push(each);
      }
    }
    return found;
  }

  /** The groups that refer to one of these DNs as a member, admin or owner. */
  async readNaming(connection: LdapConnection, dns: readonly string[]): Promise<KnownEntry[]> {
    const { members, admins, owners } = this.mapping.groups;
    // A value that is no DN stays the same when the entry is renamed or deleted.
    const byDn = [members, admins, owners].filter(({ by }) => by === 'dn');
    const attributes = [...new Set(byDn.flatMap((role) => role.attributes))];
    if (attributes.length === 0) return [];
    const found: KnownEntry[] = [];
    for (const some of chunksOf(dns, VALUES_OF_FILTER)) {
      const filters = some.flatMap((dn) =>
        attributes.map((attribute) => isEqual(attribute, Buffer.from(dn))),
      );
      const groups = this.readChosen(connection, 'group', { kind: 'or', filters });
      for await (const each of groups) found.push(each);
    }
    return found;
  }

  /**
   * Reads every entry of a kind.
   * @param isWhole whether to read all mirrored attributes; otherwise only the identifier and the attributes
   *   that `stampOf` needs
   * @throws SourceError when the identifier of an entry is hidden: the entry would appear deleted
   */
  readAll(connection: LdapConnection, kind: EntryKind, isWhole: boolean): AsyncGenerator<KnownEntry> {
    const entries = this.readIdentified(connection, kind, isWhole);
    return this.isNamedByDn ? this.listed.note(kind, entries) : entries;
  }

  private async *readIdentified(
    connection: LdapConnection,
    kind: EntryKind,
    isWhole: boolean,
  ): AsyncGenerator<KnownEntry> {
    const attributes = isWhole ? this.searches[kind].attributes : this.attributesOfStamp(kind);
    for await (const entry of readPaged(connection, { ...this.searches[kind], attributes })) {
      if (!this.covers(kind, entry.dn)) continue;
      if (!this.hasIdentity(entry) && !this.isNamedByDn)
        throw new SourceError(`The account may not read ${this.uuid} of every entry`);
      const uuid = uuidOfEntry(entry, this.uuid);
      if (uuid !== null) yield { kind, uuid, entry };
    }
  }

  /** Whether the server still returns an entry of a kind under its last known DN. */
  async isListed(
    connection: LdapConnection,
    { kind, uuid, dn }: { kind: EntryKind; uuid: string; dn: string },
  ): Promise<boolean> {
    if (!this.covers(kind, dn)) return false;
    const entry = await readAt(connection, { ...this.searches[kind], attributes: [this.uuid] }, dn);
    return entry !== null && uuidOfEntry(entry, this.uuid) === uuid;
  }

  /** Changes when the server records a change of the entry; null when the server records none. */
  stampOf(entry: Entry): string | null {
    if (this.isHashed) return this.hashOf(entry);
    const values = [ENTRY_CSN, this.modifiedAt].flatMap((attribute) => entry.bytes(attribute));
    const texts = values.map((value) => value.toString('latin1').replaceAll('\0', ' '));
    return texts.length === 0 ? null : texts.join(' ');
  }

  private attributesOfStamp(kind: EntryKind): readonly string[] {
    if (!this.isHashed) return [this.uuid, this.modifiedAt, ENTRY_CSN];
    return this.searches[kind].attributes.filter((name) => !this.pictures.has(attributeKey(name)));
  }

  /** A hash of all attributes but pictures. The order of values does not matter. */
  private hashOf(entry: Entry): string {
    const contents = [...entry.attributes]
      .filter(([name, values]) => values.length > 0 && !this.pictures.has(name))
      .map(([name, values]) => [name, ...values.map((value) => value.toString('base64')).sort()].join(' '));
    return hash('sha256', [entry.dn, ...contents.sort()].join('\n'), 'base64url');
  }

  /** The requests that the server has refused so far and the alternatives in use, one sentence each. */
  refusals(connection: LdapConnection): string[] {
    const pages = 'The directory server refuses to send pages: all entries are read at once';
    const instants = `The directory server refuses to compare times: ${this.modifiedAt} of all entries is listed each time`;
    const others = [
      ...(hasRefusedPages(connection) ? [pages] : []),
      ...(this.refusesInstants ? [instants] : []),
    ];
    return [...this.refused, ...others];
  }

  /**
   * Yields the entries that were changed at or after a time of the directory's own clock, with only their
   * identifier and the time of the change. An entry may occur twice.
   */
  async *listChangedSince(connection: LdapConnection, instant: string): AsyncGenerator<KnownEntry> {
    const { modifiedAt } = this;
    const attributes = [this.uuid, modifiedAt];
    const since: Filter = { kind: 'greaterOrEqual', attribute: modifiedAt, value: Buffer.from(instant) };
    try {
      if (!this.refusesInstants)
        for (const kind of KINDS) yield* this.readChosen(connection, kind, since, attributes);
    } catch (error) {
      if (!isRefusal(error)) throw error;
      this.refusesInstants = true;
    }
    if (!this.refusesInstants) return;
    for (const kind of KINDS) {
      for await (const known of this.readChosen(connection, kind, null, attributes)) {
        // One server writes all timestamps in one format, in which their order is the order of their text.
        const changedAt = this.timeOf(known.entry);
        if (changedAt !== null && changedAt >= instant) yield known;
      }
    }
  }

  /** The entryUUIDs of the groups whose members the server may compute by a search. */
  async listDynamicGroups(connection: LdapConnection): Promise<string[]> {
    const filters = DYNAMIC_ATTRIBUTES.map((attribute): Filter => ({ kind: 'present', attribute }));
    const attributes = ['objectClass', this.uuid, ...DYNAMIC_ATTRIBUTES];
    const groups = this.readChosen(connection, 'group', { kind: 'or', filters }, attributes);
    const found: string[] = [];
    try {
      for await (const { uuid, entry } of groups) if (isDynamicGroup(entry)) found.push(uuid);
    } catch (error) {
      // A server that does not know these attributes has no such groups.
      if (!isRefusal(error)) throw error;
    }
    return found;
  }

  /** When an entry was changed, in the format of the server; null when the server does not show it. */
  timeOf(entry: Entry): string | null {
    return entry.bytes(this.modifiedAt)[0]?.toString('latin1') ?? null;
  }

  async *readTimes(connection: LdapConnection): AsyncGenerator<Entry> {
    const attributes = [this.modifiedAt];
    for (const kind of KINDS) yield* readPaged(connection, { ...this.searches[kind], attributes });
  }

  /** @param condition a filter in addition to the one that selects the kind; null: none */
  private async *readChosen(
    connection: LdapConnection,
    kind: EntryKind,
    condition: Filter | null,
    attributes: readonly string[] = this.searches[kind].attributes,
  ): AsyncGenerator<KnownEntry> {
    const search = this.searches[kind];
    const filters = condition === null ? [search.filter] : [search.filter, condition];
    const request = { ...search, filter: { kind: 'and', filters } as const, attributes };
    for await (const entry of readPaged(connection, request)) {
      const uuid = uuidOfEntry(entry, this.uuid);
      if (uuid !== null && this.covers(kind, entry.dn)) yield { kind, uuid, entry };
    }
  }
}

/** Whether the server refused a request, for a reason other than a limit of the account. */
function isRefusal(error: unknown): boolean {
  return error instanceof LdapResultError && !(error instanceof LimitExceededError);
}
