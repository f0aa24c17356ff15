import { type Field, mappedFields, pictureFields } from '../../common/field.js';
import type { DirectoryConfig, DirectoryMapping, LdapSourceConfig } from '../../config/settings/directory.js';
import { groupFields } from '../../groups/group.fields.js';
import type { LdapConnection } from '../../ldap/client/ldap-connection.js';
import type { Entry } from '../../ldap/entry.js';
import { uuidOfEntry } from '../../ldap/naming/entry-uuid.js';
import { type Filter, parseFilter } from '../../ldap/filter/filter-parser.js';
import { LdapResultError } from '../../ldap/client/ldap-error.js';
import { LimitExceededError } from '../../ldap/client/limit-error.js';
import { hasRefusedPages, readPaged } from '../../ldap/client/paged-search.js';
import type { SearchRequest } from '../../ldap/client/requests.js';
import { ResultCode } from '../../ldap/client/result-code.js';
import { readRootDse } from '../../ldap/client/root-dse.js';
import { SYNC_REQUEST } from '../../ldap/sync/sync-messages.js';
import { userFields } from '../../users/user.fields.js';
import { DYNAMIC_ATTRIBUTES, isDynamicGroup } from './dynamic-group.js';
import { LdapServers } from './ldap-servers.js';
import type { ServerState } from './position.js';
import { readReachedState, readServerState } from './server-state.js';
import type { EntryKind } from '../source.js';
import { SourceError } from '../source.error.js';

/** The attribute that OpenLDAP updates with every change of an entry. Other servers do not have it. */
const ENTRY_CSN = 'entryCSN';

/** The number of values in one filter. Servers limit the size of a filter. */
const AT_ONCE = 100;

/**
 * Object classes of containers. When a container is renamed, all entries below it are renamed, and the server
 * reports none of them.
 */
const CONTAINERS = ['organizationalUnit', 'organization', 'locality', 'domain', 'dcObject', 'container'];

export const KINDS = ['person', 'group'] as const satisfies readonly EntryKind[];

export interface KnownEntry {
  readonly kind: EntryKind;
  readonly uuid: string;
  readonly entry: Entry;
}

/** An entry by its kind, identifier and last known DN. */
export interface ListedEntry {
  readonly kind: EntryKind;
  readonly uuid: string;
  readonly dn: string;
}

/** The searches for the people and groups of one LDAP server, according to the mapping. */
export class LdapDirectory {
  /** The searches for people and for groups, with all mapped attributes. */
  readonly searches: Readonly<Record<EntryKind, SearchRequest>>;
  /** The search for the containers of people and groups: their DNs and entryUUIDs. */
  readonly containers: SearchRequest;
  readonly servers: LdapServers;
  private readonly mapping: DirectoryMapping;
  private readonly pictureAttributes: readonly string[];
  private refusesInstants = false;

  constructor(
    private readonly config: DirectoryConfig,
    source: LdapSourceConfig,
  ) {
    this.servers = new LdapServers(source);
    this.mapping = config.mapping;
    const { people, groups } = this.mapping;
    const users = userFields(people);
    this.pictureAttributes = pictureFields(users).flatMap(({ attributes }) => attributes);
    this.searches = {
      person: searchOf(people, attributesOf(users)),
      group: searchOf(groups, [
        ...attributesOf(groupFields(groups)),
        groups.member,
        groups.admin,
        groups.owner,
        ...DYNAMIC_ATTRIBUTES,
      ]),
    };
    this.containers = {
      base: config.baseDn,
      scope: 'sub',
      filter: { kind: 'or', filters: CONTAINERS.map((value) => isEqual('objectClass', Buffer.from(value))) },
      attributes: ['entryUUID'],
    };
  }

  connect(signal: AbortSignal): Promise<LdapConnection> {
    return this.servers.connect(signal);
  }

  /**
   * Whether the account can read the identifiers of entries. Without them, only a complete read can be
   * compared with the mirror.
   */
  async showsIdentity(connection: LdapConnection): Promise<boolean> {
    const attributes = [this.mapping.people.uuid];
    for (const kind of KINDS) {
      const entries = readPaged(connection, { ...this.searches[kind], attributes }, { pageSize: 1 });
      for await (const entry of entries) {
        if (!this.hasIdentity(entry)) return false;
        break;
      }
    }
    return true;
  }

  hasIdentity(entry: Entry): boolean {
    return entry.bytes(this.mapping.people.uuid).length > 0;
  }

  /**
   * Whether the server offers content synchronization. The mapping must also use entryUUID as the identifier,
   * because the protocol reports entries by it.
   */
  async offersContentSync(connection: LdapConnection): Promise<boolean> {
    const { supportedControls } = await readRootDse(connection);
    return supportedControls.includes(SYNC_REQUEST) && this.mapping.people.uuid.toLowerCase() === 'entryuuid';
  }

  /** Whether the server can report changes by content synchronization. */
  async canTellChanges(connection: LdapConnection): Promise<boolean> {
    return (await this.offersContentSync(connection)) && (await this.showsIdentity(connection));
  }

  /** The state of the server by its contextCSN. */
  readState(connection: LdapConnection): Promise<ServerState> {
    return readServerState(connection, this.searches);
  }

  /** The state of the server by its contextCSN and its entries: see Position. */
  readReached(connection: LdapConnection, state: ServerState): Promise<ServerState> {
    return readReachedState(connection, this.searches, state);
  }

  /**
   * Reads entries by their identifiers. Entries that do not exist, or that the filters do not select, are
   * omitted.
   */
  async readAgain(connection: LdapConnection, uuids: readonly string[]): Promise<KnownEntry[]> {
    const found: KnownEntry[] = [];
    for (const some of pieces(uuids, AT_ONCE)) {
      const filters = some.map((uuid) => isEqual(this.mapping.people.uuid, this.identityValue(uuid)));
      for (const kind of KINDS) {
        for await (const each of this.readChosen(connection, kind, { kind: 'or', filters })) found.push(each);
      }
    }
    return found;
  }

  /** The groups that refer to one of these DNs as a member, admin or owner. */
  async readNaming(connection: LdapConnection, dns: readonly string[]): Promise<KnownEntry[]> {
    const { member, admin, owner } = this.mapping.groups;
    const found: KnownEntry[] = [];
    for (const some of pieces(dns, AT_ONCE)) {
      const filters = some.flatMap((dn) =>
        [member, admin, owner].map((attribute) => isEqual(attribute, Buffer.from(dn))),
      );
      for await (const each of this.readChosen(connection, 'group', { kind: 'or', filters }))
        found.push(each);
    }
    return found;
  }

  /**
   * Reads every entry of a kind.
   * @param isWhole whether to read all mirrored attributes; otherwise only the identifier and the attributes
   *   that `stampOf` needs
   */
  readAll(connection: LdapConnection, kind: EntryKind, isWhole: boolean): AsyncGenerator<KnownEntry> {
    const { uuid, modifiedAt } = this.mapping.people;
    const attributes = isWhole ? this.searches[kind].attributes : [uuid, modifiedAt, ENTRY_CSN];
    return this.readIdentified(connection, kind, attributes);
  }

  /** Whether the server still returns an entry of a kind under its DN. */
  async isListed(connection: LdapConnection, { kind, uuid, dn }: ListedEntry): Promise<boolean> {
    const attributes = [this.mapping.people.uuid];
    const request = { ...this.searches[kind], base: dn, scope: 'base', attributes } as const;
    try {
      for await (const message of connection.search(request)) {
        if (message.kind === 'entry' && uuidOfEntry(message.entry, this.mapping.people.uuid) === uuid)
          return true;
      }
      return false;
    } catch (error) {
      if (error instanceof LdapResultError && error.code === ResultCode.noSuchObject) return false;
      throw error;
    }
  }

  /** Changes when the server records a change of the entry; null when the server records none. */
  stampOf(entry: Entry): string | null {
    const values = [ENTRY_CSN, this.mapping.people.modifiedAt].flatMap((attribute) => entry.bytes(attribute));
    return values.length === 0
      ? null
      : values
          .map((value) => value.toString('latin1'))
          .join(' ')
          .replaceAll('\0', ' ');
  }

  /** The requests that the server has refused so far and the alternatives in use, one sentence each. */
  refusals(connection: LdapConnection): string[] {
    const pages = 'The directory server refuses to send pages: all entries are read at once';
    const instants = `The directory server refuses to compare times: ${this.mapping.people.modifiedAt} of all entries is listed each time`;
    return [...(hasRefusedPages(connection) ? [pages] : []), ...(this.refusesInstants ? [instants] : [])];
  }

  /**
   * Yields the entries that were changed at or after a time of the directory's own clock, with only their
   * identifier and the time of the change. An entry may occur twice.
   */
  async *listChangedSince(connection: LdapConnection, instant: string): AsyncGenerator<KnownEntry> {
    const { uuid, modifiedAt } = this.mapping.people;
    const attributes = [uuid, modifiedAt];
    const since: Filter = { kind: 'greaterOrEqual', attribute: modifiedAt, value: Buffer.from(instant) };
    try {
      if (!this.refusesInstants)
        for (const kind of KINDS) yield* this.readChosen(connection, kind, since, attributes);
    } catch (error) {
      if (!(error instanceof LdapResultError) || error instanceof LimitExceededError) throw error;
      this.refusesInstants = true;
    }
    if (!this.refusesInstants) return;
    for (const kind of KINDS) {
      for await (const known of this.readChosen(connection, kind, undefined, attributes)) {
        // One server writes all timestamps in one format, in which their order is the order of their text.
        const [changedAt] = known.entry.bytes(modifiedAt);
        if (changedAt !== undefined && changedAt.toString('latin1') >= instant) yield known;
      }
    }
  }

  /** The entryUUIDs of the groups whose members the server may compute by a search. */
  async listDynamicGroups(connection: LdapConnection): Promise<string[]> {
    const filters = DYNAMIC_ATTRIBUTES.map((attribute): Filter => ({ kind: 'present', attribute }));
    const attributes = ['objectClass', this.mapping.groups.uuid, ...DYNAMIC_ATTRIBUTES];
    const found: string[] = [];
    try {
      for await (const { uuid, entry } of this.readChosen(
        connection,
        'group',
        { kind: 'or', filters },
        attributes,
      ))
        if (isDynamicGroup(entry)) found.push(uuid);
    } catch (error) {
      // A server that does not know these attributes has no such groups.
      if (!(error instanceof LdapResultError) || error instanceof LimitExceededError) throw error;
    }
    return found;
  }

  /** Reads every entry with only the time of its last change. */
  async *readTimes(connection: LdapConnection): AsyncGenerator<Entry> {
    const attributes = [this.mapping.people.modifiedAt];
    for (const kind of KINDS) yield* readPaged(connection, { ...this.searches[kind], attributes });
  }

  /** @throws SourceError when the identifier of an entry is hidden: the entry would appear deleted */
  private async *readIdentified(
    connection: LdapConnection,
    kind: EntryKind,
    attributes: readonly string[],
  ): AsyncGenerator<KnownEntry> {
    const { uuid: attribute } = this.mapping.people;
    for await (const entry of readPaged(connection, { ...this.searches[kind], attributes })) {
      if (!this.hasIdentity(entry))
        throw new SourceError(`The account may not read ${attribute} of every entry`);
      const uuid = uuidOfEntry(entry, attribute);
      if (uuid !== null) yield { kind, uuid, entry };
    }
  }

  /** @param condition a filter in addition to the one that selects the kind */
  private async *readChosen(
    connection: LdapConnection,
    kind: EntryKind,
    condition?: Filter,
    attributes: readonly string[] = this.searches[kind].attributes,
  ): AsyncGenerator<KnownEntry> {
    const search = this.searches[kind];
    const filter: Filter =
      condition === undefined ? search.filter : { kind: 'and', filters: [search.filter, condition] };
    for await (const entry of readPaged(connection, { ...search, filter, attributes })) {
      const uuid = uuidOfEntry(entry, this.mapping.people.uuid);
      if (uuid !== null) yield { kind, uuid, entry };
    }
  }

  private identityValue(uuid: string): Buffer {
    const isText = this.mapping.people.uuid.toLowerCase() === 'entryuuid';
    return isText ? Buffer.from(uuid) : Buffer.from(uuid.replaceAll('-', ''), 'hex');
  }
}

function searchOf(
  mapping: DirectoryMapping['people'] | DirectoryMapping['groups'],
  more: readonly string[],
): SearchRequest {
  const { base, filter, uuid, createdAt, modifiedAt, id, name } = mapping;
  return {
    base,
    scope: 'sub',
    filter: parseFilter(filter),
    attributes: [...new Set(['objectClass', ENTRY_CSN, uuid, createdAt, modifiedAt, id, ...name, ...more])],
  };
}

function attributesOf(fields: readonly Field[]): string[] {
  return mappedFields(fields).flatMap(({ attributes }) => attributes);
}

function isEqual(attribute: string, value: Buffer): Filter {
  return { kind: 'equal', attribute, value };
}

function* pieces<Each>(all: readonly Each[], size: number): Generator<readonly Each[]> {
  for (let start = 0; start < all.length; start += size) yield all.slice(start, start + size);
}
