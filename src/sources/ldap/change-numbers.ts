import { Control } from 'ldapts';
import type { ChangeCounter } from '../../config/model/presets/server-traits.js';
import type { LdapConnection } from '../../ldap/client/ldap-connection.js';
import { LdapResultError } from '../../ldap/client/ldap-error.js';
import { LimitExceededError } from '../../ldap/client/limit-error.js';
import { readPaged } from '../../ldap/client/paged-search.js';
import { readOne, readOnly } from '../../ldap/client/read-one.js';
import { type Filter, parseFilter } from '../../ldap/filter/filter-parser.js';
import { isRelated, suffixOf } from '../../ldap/naming/naming-context.js';
import type { Entry } from '../../ldap/entry.js';
import { includedChangesOf } from '../../ldap/sync/included-changes.js';
import { HAS_SUBORDINATES } from './entry-searches.js';
import type { LdapDirectory } from './ldap-directory.js';
import type { NumberedState } from './numbered-state.js';
import { KINDS } from '../source.js';

/** What has changed between two states, as far as searches show it. */
interface NumberedChanges {
  /** Changed entries of any kind, with their identity and object classes. Deleted ones have a DN of their own. */
  readonly entries: readonly { readonly uuid: string; readonly entry: Entry }[];
  /**
   * Whether each number belongs to one of these entries. Otherwise entries can have been deleted, or have moved to where the
   * account sees nothing; or an entry has changed twice.
   */
  readonly isComplete: boolean;
}

/** Milliseconds within which the server answers a search of the root DSE. */
const READ_TIMEOUT_MS = 10_000;

/** The numbers that a server gives to changes: uSNChanged of Active Directory, entryUSN of 389 Directory Server. */
export class ChangeNumbers {
  /** What identifies the database, which is the same for the whole connection. */
  private database: string | null = null;

  constructor(
    private readonly connection: LdapConnection,
    private readonly directory: LdapDirectory,
    readonly counter: ChangeCounter,
  ) {}

  /**
   * The latest numbers; null when the server does not show them to the account.
   * @throws {LdapError}
   */
  async read(): Promise<NumberedState | null> {
    const { latest, databases, origin } = this.counter;
    const attributes = ['namingContexts', latest, origin.server, ...(databases === null ? [] : [databases])];
    const root = await this.readEntry('', attributes);
    const [server] = root?.text(origin.server) ?? [];
    if (root === null || server === undefined) return null;
    this.database ??= await this.identifyDatabase(server);
    const { database } = this;
    const numbers = this.numbersIn(root);
    if (database === null || numbers === null) return null;
    const included = this.counter.included.countsAlike
      ? { [database]: Math.min(...Object.values(numbers)) }
      : undefined;
    return { origin: `${server} ${database}`, latest: numbers, included };
  }

  /**
   * What another server must have after these changes: it can be more than was read, so that nothing is missed.
   * @throws {LdapError}
   */
  async readNeeded(state: NumberedState): Promise<NumberedState['included']> {
    return this.counter.included.countsAlike ? state.included : (await this.withOthers(state)).included;
  }

  /**
   * The same, with the changes of other servers that are included, if the server shows them.
   * @throws {LdapError}
   */
  async readWithOthers(): Promise<NumberedState | null> {
    const state = await this.read();
    return state === null ? null : this.withOthers(state);
  }

  /**
   * What the server shows of its changes and of those of others, even where it has no numbers, or none for this account.
   * @throws {LdapError}
   */
  async readShown(): Promise<NumberedState | null> {
    const numbered = await this.readWithOthers();
    if (numbered !== null || this.counter.included.countsAlike) return numbered;
    const root = await this.readEntry('', ['namingContexts', this.counter.origin.server]);
    const [origin] = root?.text(this.counter.origin.server) ?? [];
    if (root === null || origin === undefined) return null;
    const others = await this.withOthers({ origin, latest: {} }, new Set(this.suffixesOf(root)));
    return others.showsOthers === true ? others : null;
  }

  private async withOthers(
    state: NumberedState,
    suffixes: Iterable<string> = Object.keys(state.latest),
  ): Promise<NumberedState> {
    const vectors = await Promise.all([...suffixes].map((suffix) => this.readIncluded(suffix)));
    const included: Record<string, number> = {};
    for (const vector of vectors) {
      if (vector === null) return state;
      for (const [database, number] of vector)
        included[database] = Math.min(included[database] ?? number, number);
    }
    return { ...state, included: { ...included, ...state.included }, showsOthers: true };
  }

  /** Whether the server shows the numbers, and finds entries by them. */
  async isOffered(): Promise<boolean> {
    const state = await this.read();
    if (state === null) return false;
    for (const suffix of Object.keys(state.latest)) {
      try {
        // All entries of a server of 389 Directory Server that another one has filled have the number 0.
        const entries = this.search(suffix, this.since(0), { pageSize: 1 });
        for await (const entry of entries) if (this.numberOf(entry) !== null) return true;
      } catch (error) {
        if (error instanceof LimitExceededError) return true;
        if (!(error instanceof LdapResultError)) throw error;
      }
    }
    return false;
  }

  /** @throws {LdapError} */
  async readChanges(before: NumberedState, now: NumberedState): Promise<NumberedChanges> {
    const entries: { uuid: string; entry: Entry }[] = [];
    let isComplete = true;
    for (const [suffix, latest] of Object.entries(now.latest)) {
      const known = before.latest[suffix] ?? latest;
      if (known === latest) continue;
      const found = new Set<number>();
      try {
        for await (const entry of this.listSince(suffix, known + 1, now)) {
          const number = this.numberOf(entry);
          const uuid = this.directory.identityOf(entry);
          // A later change is found next time. 389 Directory Server gives its suffix the largest number of 32 bits.
          if (number === null || uuid === null || number > latest) continue;
          found.add(number);
          entries.push({ uuid, entry });
        }
      } catch (error) {
        // More entries have changed than the account may read at once: a comparison finds them.
        if (!(error instanceof LimitExceededError)) throw error;
      }
      isComplete &&= found.size === latest - known;
    }
    return { entries, isComplete };
  }

  /** Changed and deleted entries of one database, and not those of databases below it. */
  private async *listSince(suffix: string, number: number, { latest }: NumberedState): AsyncGenerator<Entry> {
    const { filter, control } = this.counter.deleted;
    const deleted: Filter = { kind: 'and', filters: [parseFilter(filter), this.since(number)] };
    const controls = control === null ? [] : [new Control(control, { critical: true })];
    const suffixes = Object.keys(latest);
    const isOwn = ({ dn }: Entry) => suffixes.length === 1 || suffixOf(dn, suffixes) === suffix;
    for await (const entry of this.search(suffix, this.since(number))) if (isOwn(entry)) yield entry;
    for await (const entry of this.search(suffix, deleted, { controls })) if (isOwn(entry)) yield entry;
  }

  private search(
    base: string,
    filter: Filter,
    options: { readonly pageSize?: number; readonly controls?: readonly Control[] } = {},
  ): AsyncGenerator<Entry> {
    const attributes = [this.directory.uuid, this.counter.changed, 'objectClass', HAS_SUBORDINATES];
    return readPaged(this.connection, { base, scope: 'sub', filter, attributes }, options);
  }

  private since(number: number): Filter {
    const value = Buffer.from(String(number));
    return { kind: 'greaterOrEqual', attribute: this.counter.changed, value };
  }

  private numberOf(entry: Entry): number | null {
    const [text] = entry.text(this.counter.changed);
    return parseNumber(text);
  }

  /** The latest numbers of the databases that have people or groups; null when they are not shown. */
  private numbersIn(root: Entry): Record<string, number> | null {
    const numbers: Record<string, number> = {};
    for (const [key, [value]] of root.attributes) {
      const [name, option] = key.split(';');
      if (name !== this.counter.latest.toLowerCase()) continue;
      const number = parseNumber(value?.toString('latin1'));
      if (number === null) return null;
      for (const suffix of option === undefined ? this.suffixesOf(root) : this.suffixNamed(option, root))
        if (this.bases.some((base) => isRelated(suffix, base))) numbers[suffix] = number;
    }
    return Object.keys(numbers).length === 0 ? null : numbers;
  }

  private get bases(): readonly string[] {
    return KINDS.map((kind) => this.directory.searches[kind].base);
  }

  private suffixesOf(root: Entry): string[] {
    const namingContexts = root.text('namingContexts');
    return this.bases.map((base) => suffixOf(base, namingContexts) ?? base);
  }

  private suffixNamed(database: string, root: Entry): string[] {
    const named = this.counter.databases === null ? [] : root.text(this.counter.databases);
    return named
      .filter((text) => text.toLowerCase().startsWith(`${database}:`))
      .map((text) => text.slice(database.length + 1));
  }

  /** Null: the account may not read what identifies the database. */
  private async identifyDatabase(server: string): Promise<string | null> {
    const { database } = this.counter.origin;
    if (database === null) return '';
    const [bytes] = (await this.readEntry(server, [database]))?.bytes(database) ?? [];
    return bytes?.toString('hex') ?? null;
  }

  private async readIncluded(suffix: string): Promise<ReadonlyMap<string, number> | null> {
    const { attribute, form, filter } = this.counter.included;
    const entry =
      filter === null
        ? await this.readEntry(suffix, [attribute])
        : await this.findEntry(suffix, filter, attribute);
    return entry === null ? null : includedChangesOf(entry, attribute, form);
  }

  /** Null: there is none, or the server refuses the search. */
  private async findEntry(base: string, filter: string, attribute: string): Promise<Entry | null> {
    const request = { base, scope: 'sub', filter: parseFilter(filter), attributes: [attribute] } as const;
    try {
      return await readOnly(this.connection, request, { idleTimeout: READ_TIMEOUT_MS });
    } catch (error) {
      if (error instanceof LdapResultError) return null;
      throw error;
    }
  }

  private readEntry(dn: string, attributes: readonly string[]): Promise<Entry | null> {
    return readOne(this.connection, dn, attributes, { idleTimeout: READ_TIMEOUT_MS });
  }
}

/** Null: it is not a number that can be compared, such as the one before the first change. */
function parseNumber(text = ''): number | null {
  const number = Number(text);
  return /^\d+$/.test(text) && Number.isSafeInteger(number) ? number : null;
}
