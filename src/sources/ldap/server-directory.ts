import { createHash, randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { type Field, isMapped, pictureFields } from '../../common/field.js';
import { chunksOf } from '../../common/chunks.js';
import { pause } from '../../common/pause.js';
import { DEFAULT_PRESET } from '../../config/model/presets/presets.js';
import { PRESETS } from '../../config/model/presets/read-presets.js';
import {
  type DirectoryMapping,
  type EntryMapping,
  mappingOf,
  memberAttributesOf,
} from '../../config/model/mapping.js';
import type { DirectoryConfig } from '../../config/settings/directory.js';
import { type LdapConnection, readOne, type SearchRequest } from '../../ldap/client/ldap-connection.js';
import { LdapResultError, ResultCode } from '../../ldap/client/ldap-error.js';
import { readPaged } from '../../ldap/client/paged-search.js';
import { readRootDse, type RootDse } from '../../ldap/client/server-kind.js';
import { attributeKey, type Entry } from '../../ldap/entry.js';
import { attributesOfFilter, type Filter, parseFilter } from '../../ldap/filter/filter.js';
import { isBelow, suffixOf } from '../../ldap/naming/dn.js';
import { identityValues, uuidOfEntry } from '../../ldap/naming/identifiers.js';
import {
  type Directory,
  type EntryKind,
  type Found,
  type Hint,
  HintMode,
  type Identity,
  KINDS,
  type Listed,
  OtherServerError,
  SourceError,
} from '../directory.js';
import { namingAttributesOf } from '../references.js';

/** Number of entries that are read together. Each may have a picture of several megabytes. */
const READ_TOGETHER = 50;
/** The size of a page of a scan, in entries that are listed without their contents. */
const PAGE_SIZE = 500;
/** Number of values of an attribute that are hashed at once. */
const HASHED_TOGETHER = 1000;
/** Milliseconds within which the server answers a search of a single entry. */
export const READ_TIMEOUT_MS = 10_000;
/** Milliseconds after which a later change has a later time than the latest one that was seen. */
const SECOND_MS = 1100;
/** The attribute that OpenLDAP updates with every change of an entry. Other servers do not have it. */
const ENTRY_CSN = 'entryCSN';
/** The searches of dynamic groups: OpenLDAP returns the subtypes of an attribute, too, and dynlist accepts only those of labeledURI. */
const DYNAMIC_ATTRIBUTES: readonly string[] = ['labeledURI', 'memberURL'];

/** What says where to look for changes. */
export interface HintSource {
  readonly mode: HintMode;
  readonly hintDelay: number;
  /** Why a better way is not used, one sentence each, without a full stop. */
  readonly refusals: readonly string[];
  hints(signal: AbortSignal): AsyncIterable<Hint>;
}

/** One server, over one connection. */
export class ServerDirectory implements Directory {
  readonly searches: Readonly<Record<EntryKind, SearchRequest>>;
  /** The first user and group, with their identifiers. */
  readonly firsts = new Map<EntryKind, Entry>();
  /** The contextCSN that the server shows of each server ID, sorted by ID. */
  shownCsns: readonly string[] = [];
  /** CSNs of entries that are newer: after a crash, the contextCSN of OpenLDAP is an older one until the next change. */
  private newerCsns: readonly string[] = [];
  /** Those of the databases that have users or groups. */
  private suffixes: ReadonlySet<string> = new Set();
  private source: HintSource | null = null;
  private readonly pictures: ReadonlySet<string>;
  /** The attributes in which users name other entries. */
  private readonly references: ReadonlySet<string>;
  /** Whether the server shows when users were changed. Otherwise they are compared by a hash, like groups. */
  private showsTimes = true;
  /** Whether the account sees identifiers. Otherwise they are made of DNs, by which entries are found. */
  private showsIdentity = true;
  /** The latest time of a change that was seen, of servers that count only seconds. */
  private latest = '';
  private latestSeenAt = 0;

  constructor(
    readonly config: DirectoryConfig,
    readonly connection: LdapConnection,
  ) {
    this.searches = searchesOf(config.mapping, config.baseDn);
    const { users } = config.mapping;
    const attributesOf = (fields: readonly Field[]) => fields.flatMap(({ attributes }) => attributes);
    const references = attributesOf(users.fields.filter(({ reader }) => reader === 'reference'));
    this.pictures = new Set(attributesOf(pictureFields(users.fields)).map(attributeKey));
    this.references = new Set([...references, ...namingAttributesOf(users).users].map(attributeKey));
  }

  /**
   * Finds out what the server is and shows, and how it lacks known changes, as describeLag.
   * @param choose chooses what says where to look for changes
   */
  async begin(
    choose: (directory: ServerDirectory, root: RootDse) => Promise<HintSource>,
    signal: AbortSignal,
    known: readonly string[] = [],
  ): Promise<string | null> {
    const close = this.close.bind(this);
    signal.addEventListener('abort', close);
    try {
      const root = await readRootDse(this.connection);
      requireKind(this.config, root);
      const suffixes = KINDS.map((kind) => suffixOf(this.searches[kind].base, root.namingContexts));
      this.suffixes = new Set(suffixes.filter((suffix) => suffix !== undefined));
      await this.readCsns();
      await this.probe();
      this.source = await choose(this, root);
      return await this.describeLag(known);
    } catch (error) {
      this.close();
      throw error;
    } finally {
      signal.removeEventListener('abort', close);
    }
  }

  get mode(): HintMode {
    return this.source?.mode ?? HintMode.POLLED;
  }

  get hintDelay(): number {
    return this.source?.hintDelay ?? 0;
  }

  get refusals(): readonly string[] {
    const pages = 'The directory server refuses to send pages: all entries are read at once';
    return [...(this.source?.refusals ?? []), ...(this.connection.hasRefusedPages ? [pages] : [])];
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
    return [...newestOf([...this.shownCsns, ...this.newerCsns]).values()];
  }

  async describeLag(known: readonly string[]): Promise<string | null> {
    // Servers that number their changes have no contextCSN.
    const before = newestOf(PRESETS[this.config.server].counter === null ? known : []);
    if (before.size > 0 && this.shownCsns.length === 0)
      return 'The directory server no longer shows its contextCSN';
    const findMissing = () => {
      const present = newestOf(this.contextCsns);
      const missing = [...before].filter(([id, csn]) => (present.get(id) ?? '') < csn);
      return missing.sort(([, one], [, other]) => (one < other ? -1 : 1));
    };
    const [oldest] = findMissing();
    if (oldest === undefined) return null;
    await this.readNewerCsns(oldest[1]);
    const missing = findMissing();
    const last = missing.at(-1)?.[1];
    if (last === undefined) return null;
    const since = last.replace(/^(....)(..)(..)(..)(..)(..).*$/, '$1-$2-$3T$4:$5:$6Z');
    const ids = missing.map(([id]) => id).join(', ');
    return `The directory server is behind what is known since ${since} (server ID ${ids})`;
  }

  async *scan(isWhole: boolean): AsyncGenerator<readonly Listed[]> {
    // An entry that is both counts as a user. There are fewer groups to remember than users.
    const groups = new Set<string>();
    const identities = { ...this.searches.group, attributes: [this.uuid] };
    for await (const { uuid } of this.search('group', identities)) groups.add(uuid);
    for (const kind of KINDS) {
      const { attributes: all } = this.searches[kind];
      const hashed = all.filter((name) => this.isHashed(kind, attributeKey(name)));
      const listed = [...new Set([this.uuid, this.modifiedAt, ENTRY_CSN, ...hashed])];
      const attributes = isWhole ? all : listed;
      let page: Listed[] = [];
      let size = 0;
      for await (const found of this.search(kind, { ...this.searches[kind], attributes })) {
        if (kind === 'person') groups.delete(found.uuid);
        else if (!groups.has(found.uuid)) continue;
        page.push(isWhole ? found : { ...found, entry: null });
        size += isWhole ? this.sizeOf(found.entry) : 1;
        if (size < PAGE_SIZE) continue;
        yield page;
        [page, size] = [[], 0];
      }
      if (page.length > 0) yield page;
    }
    // After the entries, so that another server that has it has all that was read.
    await this.readCsns();
  }

  async *fetch(identities: readonly Identity[]): AsyncGenerator<readonly Found[]> {
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
      yield [...found.values()];
    }
    if (this.shownCsns.length > 0) await this.readCsns();
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

  /** The memory of an entry, in parts of a page. */
  private sizeOf(entry: Entry): number {
    let size = 5;
    for (const [name, values] of entry.attributes) {
      size += values.length / 50;
      if (this.pictures.has(name)) for (const { length } of values) size += length / 50_000;
    }
    return size;
  }

  /** Whether an entry that a search of a kind found is below one of the bases of the kind. */
  covers(kind: EntryKind, dn: string): boolean {
    const { bases } = mappingOf(this.config.mapping, kind);
    // The search had the only base.
    return bases.length === 1 || bases.some((base) => isBelow(dn, base));
  }

  private async readCsns(): Promise<void> {
    const csns: string[] = [];
    for (const suffix of this.suffixes) {
      const entry = await readOne(this.connection, suffix, ['contextCSN'], { idleTimeout: READ_TIMEOUT_MS });
      csns.push(...(entry?.text('contextCSN') ?? []));
    }
    this.shownCsns = [...newestOf(csns).values()];
  }

  /** Reads the CSNs of entries from one on; none if the server does not permit the search. */
  private async readNewerCsns(csn: string): Promise<void> {
    const newer: string[] = [];
    const filter = { kind: 'greaterOrEqual', attribute: 'entryCSN', value: Buffer.from(csn) } as const;
    for (const base of this.suffixes)
      try {
        const request = { base, scope: 'sub', filter, attributes: ['entryCSN'] } as const;
        for await (const message of this.connection.search(request, { idleTimeout: READ_TIMEOUT_MS }))
          if (message.kind === 'entry') newer.push(...message.entry.text('entryCSN'));
      } catch (error) {
        if (!(error instanceof LdapResultError)) throw error;
      }
    this.newerCsns = newer.filter((each) => each >= csn);
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
        if (uuid !== null) yield { kind, uuid, dn: entry.dn, stamp: await this.stampOf(kind, entry), entry };
        await pause();
      }
    } catch (error) {
      // A single entry has gone.
      const isGone = error instanceof LdapResultError && error.code === ResultCode.noSuchObject;
      if (!isGone || request.scope !== 'base') throw error;
    }
  }

  /** Servers rewrite what names other entries without another time of change (refint): groups, and the references of users. */
  private isHashed(kind: EntryKind, attribute: string): boolean {
    if (this.pictures.has(attribute)) return false;
    return kind === 'group' || !this.showsTimes || this.references.has(attribute);
  }

  private async stampOf(kind: EntryKind, entry: Entry): Promise<string> {
    const [csn] = entry.text(ENTRY_CSN);
    const [time = ''] = entry.text(this.modifiedAt);
    if (time > this.latest) [this.latest, this.latestSeenAt] = [time, performance.now()];
    // In the second of the latest change, the entry may change again without another time: it is read again.
    const isRecent = performance.now() - this.latestSeenAt < SECOND_MS;
    const isOpen = csn === undefined && time !== '' && time === this.latest && isRecent;
    const times = [csn ?? '', time.replaceAll('\0', ' '), ...(isOpen ? [randomUUID()] : [])].join(' ');
    const contents = [...entry.attributes]
      .filter(([name, values]) => values.length > 0 && this.isHashed(kind, name))
      .sort(([left], [right]) => (left < right ? -1 : 1));
    if (contents.length === 0) return `${times} ${entry.dn}`;
    const digest = createHash('sha256').update(entry.dn);
    for (const [name, values] of contents) {
      digest.update(`\n${name}`);
      for (const some of chunksOf(values, HASHED_TOGETHER)) {
        digest.update(some.map((value) => ` ${value.toString('base64')}`).join(''));
        await pause();
      }
    }
    return `${times} ${digest.digest('base64url')}`;
  }

  /** Finds out what the account sees of the first user and group. */
  private async probe(): Promise<void> {
    for (const kind of KINDS) {
      const request = { ...this.searches[kind], attributes: [this.uuid, this.modifiedAt, ENTRY_CSN] };
      for await (const entry of readPaged(this.connection, request, { pageSize: 1 })) {
        this.firsts.set(kind, entry);
        this.showsIdentity &&= entry.bytes(this.uuid).length > 0;
        if (kind === 'person')
          this.showsTimes = entry.bytes(this.modifiedAt).length + entry.bytes(ENTRY_CSN).length > 0;
        break;
      }
    }
  }
}

/** @throws OtherServerError if the server is not of the kind whose preset applies: with another preset all entries seem to be deleted */
function requireKind({ isServerGiven, server }: DirectoryConfig, shown: RootDse): void {
  const kind = shown.kind === 'other' ? DEFAULT_PRESET : shown.kind;
  // Samba and Windows can be domain controllers of one domain.
  const isSame = isDeepStrictEqual(PRESETS[kind].users, PRESETS[server].users);
  if (!isServerGiven && !isSame) throw new OtherServerError(kind, server);
}

/** The searches for users and for groups, with all mapped attributes. */
export function searchesOf(
  { users, groups }: DirectoryMapping,
  baseDn: string,
): Readonly<Record<EntryKind, SearchRequest>> {
  const naming = namingAttributesOf(users);
  const named = [...memberAttributesOf(groups), ...DYNAMIC_ATTRIBUTES, ...naming.groups];
  const ofUsers = [...naming.users, ...(users.photoStamp ?? [])];
  return {
    person: searchOf(users, baseDn, ofUsers, users.rules),
    group: searchOf(groups, baseDn, named, [...groups.rules, ...groups.memberRules]),
  };
}

function searchOf(
  mapping: EntryMapping,
  baseDn: string,
  more: readonly string[],
  rules: readonly { readonly where: string }[],
): SearchRequest {
  const { bases, filter, uuid, createdAt, modifiedAt, id, name, disabled, fields } = mapping;
  const filters = [...(disabled === null ? [] : [disabled]), ...rules.map(({ where }) => where)];
  const tested = filters.flatMap((each) => attributesOfFilter(parseFilter(each)));
  const identity = ['objectClass', ENTRY_CSN, uuid, createdAt, modifiedAt, id, ...name];
  const mapped = fields.filter(isMapped).flatMap((field) => field.attributes);
  const attributes = new Set([...identity, ...tested, ...mapped, ...more]);
  // One search finds the entries below several bases, because content synchronization has one state for each search.
  const base = bases.length === 1 ? (bases[0] ?? baseDn) : baseDn;
  return { base, scope: 'sub', filter: parseFilter(filter), attributes: [...attributes] };
}

export function isEqual(attribute: string, value: Buffer): Filter {
  return { kind: 'equalityMatch', attribute, value };
}

const CSN = /^\d{14}(?:\.\d{1,6})?Z#[0-9a-f]{6}#([0-9a-f]{2,3})#[0-9a-f]{6}$/i;

/** The newest CSN of each server ID, in the order of the IDs. CSNs of one ID have the order of their text. */
function newestOf(csns: readonly string[]): ReadonlyMap<number, string> {
  const newest = new Map<number, string>();
  for (const csn of csns) {
    const [, id] = CSN.exec(csn) ?? [];
    if (id === undefined) continue;
    const serverId = Number.parseInt(id, 16);
    if (csn > (newest.get(serverId) ?? '')) newest.set(serverId, csn);
  }
  return new Map([...newest].sort(([one], [other]) => one - other));
}
