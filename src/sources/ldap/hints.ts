import { setTimeout as sleep } from 'node:timers/promises';
import { Control } from 'ldapts';
import type { ChangeCounter, ServerTraits } from '../../config/model/presets/server-traits.js';
import { LdapError, LdapResultError } from '../../ldap/client/ldap-error.js';
import { LimitExceededError } from '../../ldap/client/limit-error.js';
import { readPaged } from '../../ldap/client/paged-search.js';
import { readOne } from '../../ldap/client/read-one.js';
import { readRootDse } from '../../ldap/client/root-dse.js';
import type { Entry } from '../../ldap/entry.js';
import { ANY_ENTRY } from '../../ldap/client/requests.js';
import { type Filter, parseFilter } from '../../ldap/filter/filter-parser.js';
import { keyOfDn } from '../../ldap/naming/dn-key.js';
import { uuidOfEntry } from '../../ldap/naming/entry-uuid.js';
import { isRelated, suffixOf } from '../../ldap/naming/naming-context.js';
import { followContent } from '../../ldap/sync/content-sync.js';
import { ContentSyncRefusedError, RefreshRequiredError } from '../../ldap/sync/content-sync-error.js';
import { mergeCookies } from '../../ldap/sync/sync-cookie.js';
import { SYNC_REQUEST } from '../../ldap/sync/sync-messages.js';
import type { ContentEvent } from '../../ldap/sync/sync-stage.js';
import type { FollowMode, Hint } from '../directory.js';
import { KINDS } from '../source.js';
import { containersBelow, HAS_SUBORDINATES, isContainer, withParents } from './entry-searches.js';
import type { ServerDirectory } from './server-directory.js';

/** Milliseconds between two requests for the latest number of a server that numbers its changes. */
const COUNT_INTERVAL_MS = 1000;
const READ_TIMEOUT_MS = 10_000;

/** What says where to look for changes. */
export interface HintSource {
  readonly mode: FollowMode;
  /** Why a better way is not used, one sentence each, without a full stop. */
  readonly refusals: readonly string[];
  hints(signal: AbortSignal): AsyncIterable<Hint>;
}

/** Chooses the best way that the server offers and the model permits. */
export async function hintSourceOf(
  directory: ServerDirectory,
  { pushesChanges, counter }: Pick<ServerTraits, 'pushesChanges' | 'counter'>,
): Promise<HintSource> {
  const { follow } = directory.config;
  const { supportedControls, kind } = await readRootDse(directory.connection);
  const refusals: string[] = [];
  if (follow === 'asked') refusals.push('The model sets follow: asked');
  else if (!supportedControls.includes(SYNC_REQUEST))
    refusals.push('The server does not push changes (RFC 4533; OpenLDAP does with the overlay syncprov)');
  else if (follow === 'auto' && !pushesChanges)
    refusals.push(`Content synchronization (RFC 4533) of ${kind} is used only with follow: told in the model`);
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
  return new PolledHints(directory, refusals);
}

/** Receives hints from searches that run at the same time. */
class Inbox {
  private waiting: Hint[] = [];
  private error: unknown = null;
  private wake: () => void = () => undefined;

  put(hint: Hint): void {
    this.waiting.push(hint);
    this.wake();
  }

  fail(error: unknown): void {
    this.error ??= error;
    this.wake();
  }

  /** Yields what arrives, until a search fails. @throws the error of the search, or the reason of the signal */
  async *read(signal: AbortSignal): AsyncGenerator<Hint> {
    const end = () => {
      this.fail(signal.reason);
    };
    signal.addEventListener('abort', end);
    try {
      for (;;) {
        signal.throwIfAborted();
        yield* this.waiting.splice(0);
        if (this.waiting.length > 0) continue;
        if (this.error !== null) throw this.error;
        await new Promise<void>((resolve) => (this.wake = resolve));
      }
    } finally {
      signal.removeEventListener('abort', end);
    }
  }
}

/**
 * Changes that the server pushes by content synchronization (RFC 4533), from its present contextCSN on. Messages name entries; what they
 * contain is not used.
 */
class PushedHints implements HintSource {
  readonly mode = 'PUSHED';
  readonly refusals = [];

  constructor(private readonly directory: ServerDirectory) {}

  /** The protocol reports entries by entryUUID, which has to be the identifier. Other servers can have another one in its place. */
  async findRefusal(): Promise<string | null> {
    const { connection, searches, config, uuid } = this.directory;
    if (config.follow !== 'told' && uuid.toLowerCase() !== 'entryuuid')
      return `Pushed changes are identified by entryUUID, but the key uuid of the model is ${uuid}`;
    try {
      for (const kind of KINDS) {
        const request = { ...searches[kind], attributes: [uuid], cookie: this.cookie, persist: true } as const;
        for await (const event of followContent(connection, request)) {
          if (event.kind === 'entry' && config.follow === 'told') {
            if (uuidOfEntry(event.entry, uuid) !== event.uuid)
              return `Pushed changes are not identified by ${uuid}`;
          }
          if (event.kind === 'refreshed' || event.kind === 'entry') break;
        }
      }
      return null;
    } catch (error) {
      if (error instanceof RefreshRequiredError) return null;
      if (error instanceof ContentSyncRefusedError) return error.message;
      throw error;
    }
  }

  async *hints(signal: AbortSignal): AsyncGenerator<Hint> {
    const inbox = new Inbox();
    const ending = new AbortController();
    const either = AbortSignal.any([signal, ending.signal]);
    for (const kind of KINDS) void this.pump(kind, inbox, either);
    void this.watchContainers(inbox, either);
    try {
      yield* inbox.read(signal);
    } finally {
      ending.abort(new Error('The hints were closed'));
    }
  }

  /** The state of the server when the connection was opened: changes before it are found by the first scan. */
  private get cookie(): Buffer | null {
    const { contextCsns } = this.directory;
    return contextCsns.length === 0
      ? null
      : mergeCookies(null, Buffer.from(`rid=000,csn=${contextCsns.join(';')}`, 'latin1'));
  }

  private async pump(kind: (typeof KINDS)[number], inbox: Inbox, signal: AbortSignal): Promise<void> {
    const { connection, searches } = this.directory;
    const known = this.cookie;
    let isRefreshed = false;
    try {
      const request = { ...searches[kind], attributes: ['1.1'], persist: true, signal } as const;
      for await (const event of this.follow(request, known)) {
        if (event.kind === 'refreshed') isRefreshed = true;
        // Without a cookie, the refresh lists all entries.
        if (!isRefreshed && known === null) continue;
        if (event.kind === 'entry') inbox.put([event.uuid]);
        if (event.kind === 'deleted') inbox.put(event.uuids);
      }
    } catch (error) {
      if (!signal.aborted) inbox.fail(error);
      if (!(error instanceof LdapError) && !signal.aborted) connection.close();
    }
  }

  /** If the server cannot continue from its own state, as after a crash, everything is listed once more, and a scan compares it. */
  private async *follow(
    request: Omit<Parameters<typeof followContent>[1], 'cookie'>,
    cookie: Buffer | null,
  ): AsyncGenerator<ContentEvent> {
    try {
      yield* followContent(this.directory.connection, { ...request, cookie });
    } catch (error) {
      if (!(error instanceof RefreshRequiredError)) throw error;
      yield* followContent(this.directory.connection, { ...request, cookie: null });
    }
  }

  /** A container that is added, deleted or renamed moves the entries below it, of which the server reports none. */
  private async watchContainers(inbox: Inbox, signal: AbortSignal): Promise<void> {
    const { connection, config } = this.directory;
    const dnKeys = new Map<string, string>();
    let isRefreshed = false;
    try {
      const request = { ...withParents(containersBelow(config.baseDn)), attributes: ['1.1'], persist: true, signal };
      for await (const event of followContent(connection, { ...request, cookie: null })) {
        if (event.kind === 'refreshed') isRefreshed = true;
        let isMoved = false;
        if (event.kind === 'entry') {
          const dnKey = keyOfDn(event.entry.dn);
          isMoved = dnKeys.get(event.uuid) !== dnKey;
          dnKeys.set(event.uuid, dnKey);
        }
        if (event.kind === 'deleted') isMoved = event.uuids.map((uuid) => dnKeys.delete(uuid)).includes(true);
        if (isMoved && isRefreshed) inbox.put('scan');
      }
    } catch (error) {
      if (!signal.aborted && !(error instanceof LdapResultError)) inbox.fail(error);
    }
  }
}

/** Changes by the numbers that the server gives to them: uSNChanged of Active Directory, entryUSN of 389 Directory Server. */
class CountedHints implements HintSource {
  readonly mode = 'COUNTED';
  readonly refusals: string[];

  constructor(
    private readonly directory: ServerDirectory,
    private readonly counter: ChangeCounter,
    refusals: readonly string[],
  ) {
    this.refusals = [...refusals];
  }

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

  async *hints(signal: AbortSignal): AsyncGenerator<Hint> {
    const inbox = new Inbox();
    const ending = new AbortController();
    const either = AbortSignal.any([signal, ending.signal]);
    let known = await this.readLatest();
    let wake: () => void = () => undefined;
    const notified = () => {
      wake();
    };
    if (known !== null && this.counter.notification !== null)
      for (const suffix of known.keys()) void this.listen(suffix, this.counter.notification, notified, either);
    const containers = new Map<string, string>();
    const look = async () => {
      for (;;) {
        const waiting = new AbortController();
        wake = () => {
          waiting.abort();
        };
        await sleep(COUNT_INTERVAL_MS, undefined, { signal: AbortSignal.any([either, waiting.signal]) }).catch(
          () => undefined,
        );
        either.throwIfAborted();
        const latest = await this.readLatest();
        if (known === null || latest === null || isOther(known, latest)) inbox.put('scan');
        else for (const [suffix, number] of latest) await this.note(suffix, known.get(suffix) ?? number, number, containers, inbox);
        known = latest;
      }
    };
    look().catch((error: unknown) => {
      inbox.fail(error);
    });
    try {
      yield* inbox.read(signal);
    } finally {
      ending.abort(new Error('The hints were closed'));
    }
  }

  /** Names what has changed after a number, also deleted entries, which have a DN of their own. */
  private async note(
    suffix: string,
    before: number,
    latest: number,
    containers: Map<string, string>,
    inbox: Inbox,
  ): Promise<void> {
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
        if (containers.get(uuid) !== dnKey) inbox.put('scan');
        containers.set(uuid, dnKey);
      }
      for await (const entry of this.search(suffix, deleted, { controls })) {
        const uuid = note(entry);
        if (uuid !== null) uuids.push(uuid);
      }
    } catch (error) {
      // More entries have changed than the account may read at once.
      if (!(error instanceof LimitExceededError)) throw error;
      inbox.put('scan');
    }
    if (uuids.length > 0) inbox.put(uuids);
    // A number without an entry: it was deleted or moved where the account sees nothing, or an entry has changed twice.
    if (numbers.size < latest - before) inbox.put('scanSoon');
  }

  private search(base: string, filter: Filter, options: Parameters<typeof readPaged>[2] = {}): AsyncGenerator<Entry> {
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
        if (bases.some((base) => isRelated(suffix, base))) numbers.set(suffix, number);
    }
    return numbers.size === 0 ? null : numbers;
  }

  /** Wakes a waiting reader when the server reports a change ([MS-ADTS] 3.1.1.3.4.1.9). If it refuses, changes are found after the interval. */
  private async listen(base: string, oid: string, notify: () => void, signal: AbortSignal): Promise<void> {
    const request = { base, scope: 'sub', filter: ANY_ENTRY, attributes: ['1.1'] } as const;
    const controls = [new Control(oid, { critical: true })];
    try {
      for await (const { kind } of this.directory.connection.search(request, { controls, signal, idleTimeout: 0 }))
        if (kind !== 'done') notify();
    } catch (error) {
      if (error instanceof LdapResultError)
        this.refusals.push(
          'The directory server refuses to notify of changes: it is asked for the latest number every second',
        );
    }
  }
}

/** Changes by the time of the last one, which shows neither deletions nor renamed entries. */
class PolledHints implements HintSource {
  readonly mode = 'POLLED';

  constructor(
    private readonly directory: ServerDirectory,
    readonly refusals: readonly string[],
  ) {}

  async *hints(signal: AbortSignal): AsyncGenerator<Hint> {
    const { config, modifiedAt, uuid, connection, searches } = this.directory;
    let latest = '';
    for (;;) {
      await sleep(config.syncSeconds * 1000, undefined, { signal });
      const uuids: string[] = [];
      let next = latest;
      for (const kind of KINDS) {
        const since: Filter = { kind: 'greaterOrEqual', attribute: modifiedAt, value: Buffer.from(latest) };
        const filter = latest === '' ? searches[kind].filter : ({ kind: 'and', filters: [searches[kind].filter, since] } as const);
        try {
          const request = { ...searches[kind], filter, attributes: [uuid, modifiedAt] };
          for await (const entry of readPaged(connection, request)) {
            const [time = ''] = entry.text(modifiedAt);
            const identity = uuidOfEntry(entry, uuid);
            if (time > next) next = time;
            if (latest !== '' && identity !== null && this.directory.covers(kind, entry.dn)) uuids.push(identity);
          }
        } catch (error) {
          // A server that does not compare times is only scanned.
          if (!(error instanceof LdapResultError) || error instanceof LimitExceededError) throw error;
          next = '';
        }
      }
      latest = next;
      if (uuids.length > 0) yield uuids;
      if (latest === '') yield 'scan';
    }
  }
}

/** Whether numbers are of another server, or went back. */
function isOther(known: ReadonlyMap<string, number>, latest: ReadonlyMap<string, number>): boolean {
  return known.size !== latest.size || [...latest].some(([suffix, number]) => number < (known.get(suffix) ?? Infinity));
}

/** Null: it is not a number that can be compared, such as the one before the first change. */
function parseNumber(text = ''): number | null {
  const number = Number(text);
  return /^\d+$/.test(text) && Number.isSafeInteger(number) ? number : null;
}
