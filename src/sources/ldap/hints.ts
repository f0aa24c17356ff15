import { EventEmitter, on } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { Control } from 'ldapts';
import { DEFAULT_PRESET } from '../../config/model/presets/presets.js';
import { type ChangeCounter, PRESETS } from '../../config/model/presets/read-presets.js';
import {
  followContent,
  SYNC_REQUEST,
  type SyncEvent,
  SyncRefusedError,
} from '../../ldap/client/content-sync.js';
import { ANY_ENTRY, readOne, type SearchRequest } from '../../ldap/client/ldap-connection.js';
import { LdapResultError } from '../../ldap/client/ldap-error.js';
import { readPaged } from '../../ldap/client/paged-search.js';
import { LimitExceededError, type RootDse } from '../../ldap/client/server-kind.js';
import type { Entry } from '../../ldap/entry.js';
import { type Filter, parseFilter } from '../../ldap/filter/filter.js';
import { isBelow, suffixOf } from '../../ldap/naming/dn.js';
import { keyOfDn, uuidOfEntry } from '../../ldap/naming/identifiers.js';
import { type EntryKind, type Hint, HintMode, KINDS } from '../directory.js';
import { type HintSource, isEqual, READ_TIMEOUT_MS, type ServerDirectory } from './server-directory.js';

/** Whether an entry has entries below it (X.501). Active Directory does not have it, and limits the classes of parents. */
const HAS_SUBORDINATES = 'hasSubordinates';

/** Object classes of containers. FreeIPA has one of its own. */
const CONTAINERS: readonly string[] =
  'organizationalUnit organization locality country domain dcObject container nsContainer'.split(' ');

/** Milliseconds between two requests for the latest number of a server that numbers its changes. */
const COUNT_INTERVAL_MS = 1000;
/** Milliseconds that a hint may take from the server. */
const IN_FLIGHT_MS = 250;

/** Chooses the best way that the server offers and the model permits. */
export async function chooseHints(
  directory: ServerDirectory,
  { supportedControls, kind }: RootDse,
): Promise<HintSource> {
  const { follow } = directory.config;
  const { syncsContent, counter } = PRESETS[kind === 'other' ? DEFAULT_PRESET : kind];
  const refusals: string[] = [];
  if (follow === 'poll') refusals.push('The model sets follow: poll');
  else if (!supportedControls.includes(SYNC_REQUEST)) {
    // Where changes are numbered, nothing is missed.
    if (counter === null)
      refusals.push('The server does not push changes (RFC 4533; OpenLDAP does with the overlay syncprov)');
  } else if (follow === null && !syncsContent)
    refusals.push(
      `Content synchronization (RFC 4533) of ${kind} is used only with follow: push in the model`,
    );
  else {
    const pushed = new PushedHints(directory);
    const refusal = await pushed.findRefusal();
    if (refusal === null) return pushed;
    refusals.push(refusal);
  }
  if (counter !== null) {
    const counted = new CountedHints(directory, counter, refusals);
    if (await counted.isOffered()) return counted;
    refusals.push(`The account sees no numbers of changes (${counter.changed}, ${counter.latest})`);
  }
  const hints = (signal: AbortSignal) => poll(directory.config.syncSeconds, signal);
  return { mode: HintMode.POLLED, hintDelay: 0, refusals, hints };
}

/** Of a server that says nothing about changes, all entries are listed at an interval. */
async function* poll(seconds: number, signal: AbortSignal): AsyncGenerator<Hint> {
  for (;;) {
    await sleep(seconds * 1000, undefined, { signal });
    yield 'scanSoon';
  }
}

/**
 * Changes that the server pushes by content synchronization (RFC 4533), from its present contextCSN on. Messages name entries; what they
 * contain is not used.
 */
class PushedHints implements HintSource {
  readonly mode = HintMode.PUSHED;
  readonly hintDelay = IN_FLIGHT_MS;
  readonly refusals: string[] = [];

  constructor(private readonly directory: ServerDirectory) {}

  /** The protocol reports entries by entryUUID, which has to be the identifier. Other servers can have another one in its place. */
  async findRefusal(): Promise<string | null> {
    const { config, uuid, searches, firsts } = this.directory;
    if (config.follow !== 'push' && uuid.toLowerCase() !== 'entryuuid')
      return `Pushed changes are identified by entryUUID, but the key uuid of the model is ${uuid}`;
    for (const kind of KINDS) {
      try {
        const refusal = await this.findRefusalOf(searches[kind], firsts.get(kind));
        if (refusal !== null) return refusal;
      } catch (error) {
        if (!(error instanceof SyncRefusedError)) throw error;
        return `${error.message}, for ${searches[kind].base}`;
      }
    }
    return null;
  }

  /** Looks for an entry of a usual search: OpenLDAP omits databases that are glued below one that pushes changes. */
  private async findRefusalOf(search: SearchRequest, first: Entry | undefined): Promise<string | null> {
    const { connection, config, uuid } = this.directory;
    const isChosen = config.follow === 'push';
    const [value] = first?.bytes(uuid) ?? [];
    if (first !== undefined && value === undefined) return `Pushed changes are not identified by ${uuid}`;
    const filters = [search.filter, ...(value === undefined ? [] : [isEqual(uuid, value)])];
    const request = { ...search, filter: { kind: 'and', filters }, attributes: [uuid], csns: [] } as const;
    // OpenLDAP omits only if the search persists. 389 Directory Server cannot end such a one before the connection, and has few of them.
    for await (const event of followContent(connection, { ...request, persist: !isChosen })) {
      if (event.kind === 'entry')
        return isChosen && uuidOfEntry(event.entry, uuid) !== event.uuid
          ? `Pushed changes are not identified by ${uuid}`
          : null;
      if (event.kind === 'refreshed') break;
    }
    return first === undefined
      ? null
      : `The directory server omits ${search.base} from content synchronization`;
  }

  hints(signal: AbortSignal): AsyncIterable<Hint> {
    return merge(signal, (put, ending) => [
      ...KINDS.map((kind) => this.watch(kind, put, ending)),
      this.watchContainers(put, ending),
    ]);
  }

  /** @param csns the state of the server when the connection was opened: changes before it are found by the first scan */
  private async watch(
    kind: EntryKind,
    put: Put,
    signal: AbortSignal,
    csns = this.directory.shownCsns,
  ): Promise<void> {
    const { connection, searches } = this.directory;
    const request = { ...searches[kind], attributes: ['1.1'], csns, persist: true, signal };
    // From no state on, the refresh lists all entries, and a scan compares them.
    let isLost = csns.length === 0;
    try {
      for await (const event of followContent(connection, request)) {
        if (event.kind !== 'refreshed') {
          if (!isLost) put(event.kind === 'entry' ? [event.uuid] : event.uuids);
        } else if (isLost) {
          isLost = false;
          put('scan');
        }
      }
    } catch (error) {
      // As after a crash, the server cannot continue from its own state.
      if (!(error instanceof SyncRefusedError) || csns.length === 0) throw error;
      await this.watch(kind, put, signal, []);
    }
  }

  /** A container that is added, deleted or renamed moves the entries below it, of which the server reports none. */
  private async watchContainers(put: Put, signal: AbortSignal): Promise<void> {
    const { connection, config } = this.directory;
    const dnKeys = new Map<string, string>();
    const isMoved = (event: SyncEvent) => {
      if (event.kind === 'refreshed') return false;
      if (event.kind === 'deleted') return event.uuids.map((uuid) => dnKeys.delete(uuid)).includes(true);
      const before = dnKeys.get(event.uuid);
      dnKeys.set(event.uuid, keyOfDn(event.entry.dn));
      return before !== dnKeys.get(event.uuid);
    };
    let isRefreshed = false;
    try {
      const filters = CONTAINERS.map((value) => isEqual('objectClass', Buffer.from(value)));
      filters.push(isEqual(HAS_SUBORDINATES, Buffer.from('TRUE')));
      const search = { base: config.baseDn, scope: 'sub', filter: { kind: 'or', filters } } as const;
      const request = { ...search, attributes: ['1.1'], csns: [], persist: true, signal };
      for await (const event of followContent(connection, request)) {
        if (isMoved(event) && isRefreshed) put('scan');
        isRefreshed ||= event.kind === 'refreshed';
      }
    } catch (error) {
      if (!(error instanceof LdapResultError || error instanceof SyncRefusedError)) throw error;
      this.refusals.push('The server does not report moved containers, which only scans find');
    }
  }
}

/** Changes by the numbers that the server gives to them: uSNChanged of Active Directory, entryUSN of 389 Directory Server. */
class CountedHints implements HintSource {
  readonly mode = HintMode.COUNTED;
  readonly hintDelay = COUNT_INTERVAL_MS + 2 * IN_FLIGHT_MS;
  /** The keys of the DNs of changed containers, by identity. */
  private readonly containers = new Map<string, string>();

  constructor(
    private readonly directory: ServerDirectory,
    private readonly counter: ChangeCounter,
    readonly refusals: string[],
  ) {}

  /** Whether the server shows the numbers, and finds entries by them. */
  async isOffered(): Promise<boolean> {
    const latest = await this.readLatest();
    if (latest === null) return false;
    for (const suffix of latest.keys()) {
      try {
        const search = this.search(suffix, this.since(0), { pageSize: 1 });
        for await (const entry of search) if (this.numberOf(entry) !== null) return true;
      } catch (error) {
        if (error instanceof LimitExceededError) return true;
        if (!(error instanceof LdapResultError)) throw error;
      }
    }
    return false;
  }

  hints(signal: AbortSignal): AsyncIterable<Hint> {
    return merge(signal, (put, ending) => [this.look(put, ending)]);
  }

  private async look(put: Put, signal: AbortSignal): Promise<void> {
    const { notification } = this.counter;
    let known = await this.readLatest();
    let waiting = new AbortController();
    const wake = () => {
      waiting.abort();
    };
    if (notification !== null)
      for (const suffix of known?.keys() ?? []) void this.listen(suffix, notification, wake, signal);
    for (;;) {
      const ended = AbortSignal.any([signal, waiting.signal]);
      await sleep(COUNT_INTERVAL_MS, undefined, { signal: ended }).catch(() => undefined);
      signal.throwIfAborted();
      waiting = new AbortController();
      const latest = await this.readLatest();
      if (known === null || latest === null || isOther(known, latest)) put('scan');
      else
        for (const [suffix, number] of latest)
          await this.note(suffix, known.get(suffix) ?? number, number, put);
      known = latest;
    }
  }

  /** Names what has changed after a number, also deleted entries, which have a DN of their own. */
  private async note(suffix: string, before: number, latest: number, put: Put): Promise<void> {
    if (before === latest) return;
    const numbers = new Set<number>();
    const note = (entry: Entry) => {
      const number = this.numberOf(entry);
      // A later change is found next time. 389 Directory Server gives its suffix the largest number of 32 bits.
      if (number !== null && number > before && number <= latest) numbers.add(number);
      return uuidOfEntry(entry, this.directory.uuid);
    };
    const { filter, control } = this.counter.deleted;
    const changed = this.since(before + 1);
    const deleted: Filter = { kind: 'and', filters: [parseFilter(filter), changed] };
    const controls = control === null ? [] : [new Control(control, { critical: true })];
    const uuids: string[] = [];
    try {
      for await (const entry of this.search(suffix, changed)) {
        const uuid = note(entry);
        if (uuid === null) continue;
        uuids.push(uuid);
        if (!isContainer(entry)) continue;
        // The entries below a renamed container get no number.
        const dnKey = keyOfDn(entry.dn);
        if (this.containers.get(uuid) !== dnKey) put('scan');
        this.containers.set(uuid, dnKey);
      }
      for await (const entry of this.search(suffix, deleted, { controls })) {
        const uuid = note(entry);
        if (uuid !== null) uuids.push(uuid);
      }
    } catch (error) {
      // More entries have changed than the account may read at once.
      if (!(error instanceof LimitExceededError)) throw error;
      put('scan');
    }
    if (uuids.length > 0) put(uuids);
    // A number without an entry: it was deleted or moved where the account sees nothing, or an entry has changed twice.
    if (numbers.size < latest - before) put('scanSoon');
  }

  private search(
    base: string,
    filter: Filter,
    options: Parameters<typeof readPaged>[2] = {},
  ): AsyncGenerator<Entry> {
    const attributes = [this.directory.uuid, this.counter.changed, 'objectClass', HAS_SUBORDINATES];
    return readPaged(this.directory.connection, { base, scope: 'sub', filter, attributes }, options);
  }

  private since(number: number): Filter {
    return { kind: 'greaterOrEqual', attribute: this.counter.changed, value: Buffer.from(String(number)) };
  }

  private numberOf(entry: Entry): number | null {
    return parseNumber(entry.text(this.counter.changed)[0]);
  }

  /** The latest number of each database that has users or groups, by its suffix; null when they are not shown. */
  private async readLatest(): Promise<Map<string, number> | null> {
    const { latest, databases } = this.counter;
    const attributes = ['namingContexts', latest, ...(databases === null ? [] : [databases])];
    const root = await readOne(this.directory.connection, '', attributes, { idleTimeout: READ_TIMEOUT_MS });
    const numbers = new Map<string, number>();
    const bases = KINDS.map((kind) => this.directory.searches[kind].base);
    for (const [key, [value]] of root?.attributes ?? []) {
      const [name, option] = key.split(';');
      if (name !== latest.toLowerCase() || root === null) continue;
      const number = parseNumber(value?.toString('latin1'));
      if (number === null) return null;
      const suffixes =
        option === undefined
          ? bases.map((base) => suffixOf(base, root.text('namingContexts')) ?? base)
          : (databases === null ? [] : root.text(databases))
              .filter((text) => text.toLowerCase().startsWith(`${option}:`))
              .map((text) => text.slice(option.length + 1));
      for (const suffix of suffixes)
        if (bases.some((base) => isBelow(suffix, base) || isBelow(base, suffix))) numbers.set(suffix, number);
    }
    return numbers.size === 0 ? null : numbers;
  }

  /** Wakes a waiting reader when the server reports a change ([MS-ADTS] 3.1.1.3.4.1.9). If it refuses, changes are found after the interval. */
  private async listen(base: string, oid: string, notify: () => void, signal: AbortSignal): Promise<void> {
    const request = { base, scope: 'sub', filter: ANY_ENTRY, attributes: ['1.1'] } as const;
    const controls = [new Control(oid, { critical: true })];
    const search = this.directory.connection.search(request, { controls, signal, idleTimeout: 0 });
    try {
      for await (const { kind } of search) if (kind !== 'done') notify();
    } catch (error) {
      if (error instanceof LdapResultError)
        this.refusals.push(
          'The directory server refuses to notify of changes: it is asked for the latest number every second',
        );
    }
  }
}

/** Whether users and groups can be below an entry. */
function isContainer(entry: Entry): boolean {
  const isParent = entry.text(HAS_SUBORDINATES).some((value) => value.toUpperCase() === 'TRUE');
  const classes = entry.text('objectClass').map((name) => name.toLowerCase());
  return isParent || CONTAINERS.some((name) => classes.includes(name.toLowerCase()));
}

/** Whether numbers are of another server, or went back. */
function isOther(known: ReadonlyMap<string, number>, latest: ReadonlyMap<string, number>): boolean {
  return (
    known.size !== latest.size ||
    [...latest].some(([suffix, number]) => number < (known.get(suffix) ?? Infinity))
  );
}

/** Null: it is not a number that can be compared, such as the one before the first change. */
function parseNumber(text = ''): number | null {
  const number = Number(text);
  return /^\d+$/.test(text) && Number.isSafeInteger(number) ? number : null;
}

type Put = (hint: Hint) => void;

/**
 * Yields the hints of searches that run at the same time, until one of them fails or the signal is aborted.
 * @param start begins the searches, which end with the signal that it is given
 */
async function* merge(
  signal: AbortSignal,
  start: (put: Put, signal: AbortSignal) => readonly Promise<void>[],
): AsyncGenerator<Hint> {
  const ending = new AbortController();
  // An error after the end is of no interest.
  const inbox = new EventEmitter().on('error', () => undefined);
  const hints = on(inbox, 'hint', { signal }) as AsyncIterable<[Hint]>;
  const put = (hint: Hint) => inbox.emit('hint', hint);
  for (const search of start(put, AbortSignal.any([signal, ending.signal])))
    search.catch((error: unknown) => inbox.emit('error', error));
  try {
    for await (const [hint] of hints) yield hint;
  } finally {
    ending.abort(new Error('The hints were closed'));
  }
}
