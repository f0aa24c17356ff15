import { hash, randomUUID } from 'node:crypto';
import { pictureFields } from '../../common/field.js';
import { chunksOf } from '../../common/chunks.js';
import { PRESETS } from '../../config/model/presets/presets.js';
import type { ServerTraits } from '../../config/model/presets/server-traits.js';
import { mappingOf } from '../../config/model/mapping.js';
import type { DirectoryConfig, LdapSourceConfig } from '../../config/settings/directory.js';
import type { LdapConnection } from '../../ldap/client/ldap-connection.js';
import { LdapResultError, ResultCode } from '../../ldap/client/ldap-error.js';
import { hasRefusedPages, readPaged } from '../../ldap/client/paged-search.js';
import { readRootDse } from '../../ldap/client/server-kind.js';
import type { SearchRequest } from '../../ldap/client/requests.js';
import { attributeKey, type Entry } from '../../ldap/entry.js';
import { identityValues, uuidOfEntry } from '../../ldap/naming/entry-uuid.js';
import { isBelow, suffixOf } from '../../ldap/naming/dn.js';
import type { Directory, HintMode, Found, Hint, Identity, KnownStamps, Listed } from '../directory.js';
import { SourceError } from '../source.error.js';
import { type EntryKind, KINDS } from '../source.js';
import { ContextCsns } from './context-csns.js';
import { ENTRY_CSN, isEqual, searchesOf } from './entry-searches.js';
import { type HintSource, SECOND_MS } from './hint-source.js';
import { hintSourceOf } from './hints.js';
import { LdapServers } from './ldap-servers.js';
import { requireKind } from './recognize.js';

/** Number of entries that are read together. Each may have a picture of several megabytes. */
const READ_TOGETHER = 50;
/** Milliseconds within which the server answers a search of a single entry. */
const READ_TIMEOUT_MS = 10_000;

type Traits = Pick<ServerTraits, 'pushesChanges' | 'counter'>;

/** Servers of unknown kinds may report changes. */
const OTHER: Traits = { pushesChanges: true, counter: null };

/** Connects to the first server that lacks no known change, or else to the first one that can be used. */
export async function openServer(
  config: DirectoryConfig,
  source: LdapSourceConfig,
  known: readonly string[],
  signal: AbortSignal,
): Promise<ServerDirectory> {
  const servers = new LdapServers(source);
  const lagging: ServerDirectory[] = [];
  let used: ServerDirectory | null = null;
  const open = async (connection: LdapConnection) => {
    const directory = new ServerDirectory(config, connection);
    await directory.begin(signal);
    if ((await directory.describeLag(known)) === null) return directory;
    lagging.push(directory);
    return null;
  };
  try {
    const opened = (await servers.first(open, signal)) ?? lagging[0];
    if (opened === undefined) throw new SourceError('DIRECTORY_URL names no server');
    used = opened;
    return opened;
  } finally {
    for (const directory of lagging) if (directory !== used) directory.close();
  }
}

/** One server, over one connection. */
export class ServerDirectory implements Directory {
  readonly searches: Readonly<Record<EntryKind, SearchRequest>>;
  csns: ContextCsns;
  private source: HintSource | null = null;
  private readonly pictures: ReadonlySet<string>;
  /** Whether the server shows when users were changed. Otherwise they are compared by a hash, like groups. */
  private showsTimes = true;
  /** Whether the account sees identifiers. Otherwise they are made of DNs, by which entries are found. */
  private showsIdentity = true;
  /** Servers that number their changes have no contextCSN. */
  private isNumbered = false;
  /** The latest time of a change that was seen, of servers that count only seconds. */
  private latest = '';
  private latestSeenAt = 0;

  constructor(
    readonly config: DirectoryConfig,
    readonly connection: LdapConnection,
  ) {
    this.searches = searchesOf(config.mapping, config.baseDn);
    this.csns = new ContextCsns(connection, []);
    this.pictures = new Set(
      pictureFields(config.mapping.users.fields).flatMap(({ attributes }) => attributes.map(attributeKey)),
    );
  }

  async begin(signal: AbortSignal): Promise<void> {
    const close = () => {
      this.close();
    };
    signal.addEventListener('abort', close);
    try {
      const root = await readRootDse(this.connection);
      const { kind, namingContexts } = root;
      requireKind(this.config, kind);
      this.isNumbered = kind !== 'other' && PRESETS[kind].counter !== null;
      const suffixes = KINDS.map((each) => suffixOf(this.searches[each].base, namingContexts));
      const known = new Set(suffixes.filter((suffix) => suffix !== undefined));
      this.csns = new ContextCsns(this.connection, [...known]);
      await this.csns.read();
      await this.probe();
      this.source = await hintSourceOf(this, root, kind === 'other' ? OTHER : PRESETS[kind]);
    } catch (error) {
      this.close();
      throw error;
    } finally {
      signal.removeEventListener('abort', close);
    }
  }

  get mode(): HintMode {
    return this.source?.mode ?? 'POLLED';
  }

  get refusals(): readonly string[] {
    const pages = 'The directory server refuses to send pages: all entries are read at once';
    return [...(this.source?.refusals ?? []), ...(hasRefusedPages(this.connection) ? [pages] : [])];
  }

  /** The attribute of the identifier, the same for both kinds. */
  get uuid(): string {
    return this.config.mapping.users.uuid;
  }

  /** The attribute of the time of the last change, the same for both kinds. */
  get modifiedAt(): string {
    return this.config.mapping.users.modifiedAt;
  }

  get contextCsns(): readonly string[] {
    return this.csns.all;
  }

  describeLag(known: readonly string[]): Promise<string | null> {
    return this.csns.describeLag(this.isNumbered ? [] : known);
  }

  async *scan(known: KnownStamps | null): AsyncGenerator<readonly Listed[]> {
    const isWhole = known === null;
    const seen = new Set<string>();
    for (const kind of KINDS) {
      // Servers rewrite groups without another time of change (refint), so groups are compared by all that they have but pictures.
      const isHashed = kind === 'group' || !this.showsTimes;
      const attributes = isWhole
        ? this.searches[kind].attributes
        : isHashed
          ? this.searches[kind].attributes.filter((name) => !this.pictures.has(attributeKey(name)))
          : [this.uuid, this.modifiedAt, ENTRY_CSN];
      let page: Listed[] = [];
      for await (const found of this.search(kind, { ...this.searches[kind], attributes })) {
        // An entry that is both counts as a user.
        if (kind === 'group' && seen.has(found.uuid)) continue;
        if (kind === 'person') seen.add(found.uuid);
        page.push(isWhole ? found : { ...found, entry: null });
        if (page.length < (isWhole ? 100 : 500)) continue;
        yield page;
        page = [];
      }
      if (page.length > 0) yield page;
    }
    // After the entries, so that another server that has it has all that was read.
    await this.csns.read();
  }

  async *fetch(identities: readonly Identity[]): AsyncGenerator<Found> {
    for (const some of chunksOf(identities, READ_TOGETHER)) {
      const found = new Map<string, Found>();
      for (const kind of KINDS) {
        const missing = this.showsIdentity ? some.filter(({ uuid }) => !found.has(uuid)) : [];
        if (missing.length > 0)
          for await (const each of this.search(kind, this.searchFor(kind, missing)))
            found.set(each.uuid, each);
      }
      // A server with an incomplete index does not find an entry by its identifier, and then it is not gone.
      for (const { uuid, dn } of some)
        for (const kind of KINDS) {
          if (dn === null || found.has(uuid)) continue;
          const at = { ...this.searches[kind], base: dn, scope: 'base' } as const;
          for await (const each of this.search(kind, at)) if (each.uuid === uuid) found.set(uuid, each);
        }
      yield* found.values();
    }
    if (this.csns.shown.length > 0) await this.csns.read();
  }

  hints(signal: AbortSignal): AsyncIterable<Hint> {
    if (this.source === null) throw new Error('The directory is not open');
    return this.source.hints(signal);
  }

  async ping(): Promise<void> {
    await readRootDse(this.connection, { idleTimeout: READ_TIMEOUT_MS });
  }

  close(): void {
    this.connection.close();
  }

  /** Whether an entry that a search of a kind found is below one of the bases of the kind. */
  covers(kind: EntryKind, dn: string): boolean {
    const { bases } = mappingOf(this.config.mapping, kind);
    // The search had the only base.
    return bases.length === 1 || bases.some((base) => isBelow(dn, base));
  }

  private searchFor(kind: EntryKind, identities: readonly Identity[]): SearchRequest {
    const filters = identities
      .flatMap(({ uuid }) => identityValues(uuid, this.uuid))
      .map((value) => isEqual(this.uuid, value));
    const search = this.searches[kind];
    return { ...search, filter: { kind: 'and', filters: [search.filter, { kind: 'or', filters }] } };
  }

  /** Yields the entries of a kind. Throws if the identifier of one is hidden: the entry would appear deleted. */
  private async *search(kind: EntryKind, request: SearchRequest): AsyncGenerator<Found> {
    try {
      for await (const entry of readPaged(this.connection, request)) {
        if (!this.covers(kind, entry.dn)) continue;
        if (this.showsIdentity && entry.bytes(this.uuid).length === 0)
          throw new SourceError(`The account may not read ${this.uuid} of every entry`);
        const uuid = uuidOfEntry(entry, this.uuid);
        if (uuid !== null) yield { kind, uuid, dn: entry.dn, stamp: this.stampOf(kind, entry), entry };
      }
    } catch (error) {
      // A single entry has gone.
      const isGone = error instanceof LdapResultError && error.code === ResultCode.noSuchObject;
      if (!isGone || request.scope !== 'base') throw error;
    }
  }

  private stampOf(kind: EntryKind, entry: Entry): string {
    const [csn] = entry.text(ENTRY_CSN);
    const [time = ''] = entry.text(this.modifiedAt);
    if (time > this.latest) [this.latest, this.latestSeenAt] = [time, performance.now()];
    // In the second of the latest change, the entry may change again without another time: it is read again.
    const isRecent = performance.now() - this.latestSeenAt < SECOND_MS;
    const isOpen = csn === undefined && time !== '' && time === this.latest && isRecent;
    const times = [csn ?? '', time.replaceAll('\0', ' '), ...(isOpen ? [randomUUID()] : [])].join(' ');
    if (kind === 'person' && this.showsTimes) return `${times} ${entry.dn}`;
    const contents = [...entry.attributes]
      .filter(([name, values]) => values.length > 0 && !this.pictures.has(name))
      .sort(([left], [right]) => (left < right ? -1 : 1));
    const text = contents.map(
      ([name, values]) => `${name} ${values.map((value) => value.toString('base64')).join()}`,
    );
    return `${times} ${hash('sha256', [entry.dn, ...text].join('\n'), 'base64url')}`;
  }

  /** Finds out what the account sees of the first user and group. */
  private async probe(): Promise<void> {
    for (const kind of KINDS) {
      const request = { ...this.searches[kind], attributes: [this.uuid, this.modifiedAt, ENTRY_CSN] };
      for await (const entry of readPaged(this.connection, request, { pageSize: 1 })) {
        this.showsIdentity &&= entry.bytes(this.uuid).length > 0;
        if (kind === 'person')
          this.showsTimes = entry.bytes(this.modifiedAt).length + entry.bytes(ENTRY_CSN).length > 0;
        break;
      }
    }
  }
}
