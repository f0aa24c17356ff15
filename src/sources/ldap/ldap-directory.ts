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
import { userFields } from '../../users/user.fields.js';
import { DYNAMIC_ATTRIBUTES, isDynamicGroup } from './dynamic-group.js';
import { LdapServers } from './ldap-servers.js';
import type { ServerState } from './position.js';
import { readReachedState, readServerState } from './server-state.js';
import type { EntryKind } from '../source.js';
import { SourceError } from '../source.error.js';

/** The control of content synchronisation (RFC 4533 §2.2). */
const SYNC_REQUEST = '1.3.6.1.4.1.4203.1.9.1.1';

/** What OpenLDAP changes with every change of an entry; other servers do not know it. */
const ENTRY_CSN = 'entryCSN';

/** Values that are asked for at once: a filter has a bound too. */
const AT_ONCE = 100;

/** Classes of the entries that others stand below: when one is renamed, so are all below, and none of them tells. */
const CONTAINERS = ['organizationalUnit', 'organization', 'locality', 'domain', 'dcObject', 'container'];

export const KINDS = ['person', 'group'] as const satisfies readonly EntryKind[];

export interface KnownEntry {
  readonly kind: EntryKind;
  readonly uuid: string;
  readonly entry: Entry;
}

/** An entry by where it was seen. */
export interface ListedEntry {
  readonly kind: EntryKind;
  readonly uuid: string;
  readonly dn: string;
}

/** The people and groups of one LDAP server: what is asked for, as the mapping has it. */
export class LdapDirectory {
  /** Everything about people, and about groups. */
  readonly searches: Readonly<Record<EntryKind, SearchRequest>>;
  /** The DNs of what people and groups stand below. */
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

  /** Whether entries are seen with their identity: else only a whole directory can be compared with another one. */
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

  /** Whether the server says of itself that its content can be followed. The identity has to be its own word for it. */
  async offersContentSync(connection: LdapConnection): Promise<boolean> {
    const { supportedControls } = await readRootDse(connection);
    return supportedControls.includes(SYNC_REQUEST) && this.mapping.people.uuid.toLowerCase() === 'entryuuid';
  }

  /** Whether it can be followed by what the server tells. */
  async canTellChanges(connection: LdapConnection): Promise<boolean> {
    return (await this.offersContentSync(connection)) && (await this.showsIdentity(connection));
  }

  /** How far the server has come, by its contextCSN. */
  readState(connection: LdapConnection): Promise<ServerState> {
    return readServerState(connection, this.searches);
  }

  /** The same, and by its entries: see Position. */
  readReached(connection: LdapConnection, state: ServerState): Promise<ServerState> {
    return readReachedState(connection, this.searches, state);
  }

  /** Entries by their identity; those that are not there, or not chosen, are left out. */
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

  /** The groups that name one of these DNs, in whatever role. */
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
   * Every entry of a kind.
   * @param isWhole with all that is mirrored; else with nothing but its identity and what `stampOf` needs
   */
  readAll(connection: LdapConnection, kind: EntryKind, isWhole: boolean): AsyncGenerator<KnownEntry> {
    const { uuid, modifiedAt } = this.mapping.people;
    const attributes = isWhole ? this.searches[kind].attributes : [uuid, modifiedAt, ENTRY_CSN];
    return this.readIdentified(connection, kind, attributes);
  }

  /** Whether the server still shows an entry of a kind under its DN. */
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

  /** Differs when the server says that an entry was changed; null where the server says nothing of it. */
  stampOf(entry: Entry): string | null {
    const values = [ENTRY_CSN, this.mapping.people.modifiedAt].flatMap((attribute) => entry.bytes(attribute));
    return values.length === 0
      ? null
      : values
          .map((value) => value.toString('latin1'))
          .join(' ')
          .replaceAll('\0', ' ');
  }

  /** What the server has refused so far, and what is done instead; a sentence each. */
  refusals(connection: LdapConnection): string[] {
    const pages = 'The directory server refuses to send pages: all entries are read at once';
    const instants = `The directory server refuses to compare times: ${this.mapping.people.modifiedAt} of all entries is listed each time`;
    return [...(hasRefusedPages(connection) ? [pages] : []), ...(this.refusesInstants ? [instants] : [])];
  }

  /**
   * Entries that have been changed at an instant or later, by the directory's own clock; with nothing but when. An entry
   * may come twice.
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
        // One server writes all instants in one form, in which their order is that of their characters.
        const [changedAt] = known.entry.bytes(modifiedAt);
        if (changedAt !== undefined && changedAt.toString('latin1') >= instant) yield known;
      }
    }
  }

  /** The entryUUIDs of the groups whose members the server may find by a search of its own. */
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
      // A server that does not know the attributes has no such groups.
      if (!(error instanceof LdapResultError) || error instanceof LimitExceededError) throw error;
    }
    return found;
  }

  /** Every entry with nothing but the time at which it was changed. */
  async *readTimes(connection: LdapConnection): AsyncGenerator<Entry> {
    const attributes = [this.mapping.people.modifiedAt];
    for (const kind of KINDS) yield* readPaged(connection, { ...this.searches[kind], attributes });
  }

  /** @throws SourceError when an entry does not show its identity, and would look as if it were gone */
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

  /** @param condition beside the one by which the kind is chosen */
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
