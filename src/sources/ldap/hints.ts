import { setTimeout as sleep } from 'node:timers/promises';
import { DEFAULT_PRESET, PRESETS } from '../../config/model/presets/presets.js';
import {
  followContent,
  SYNC_REQUEST,
  type SyncEvent,
  SyncRefusedError,
} from '../../ldap/client/content-sync.js';
import type { SearchRequest } from '../../ldap/client/ldap-connection.js';
import { LdapResultError } from '../../ldap/client/ldap-error.js';
import { readPaged } from '../../ldap/client/paged-search.js';
import { LimitExceededError, type RootDse } from '../../ldap/client/server-kind.js';
import type { Entry } from '../../ldap/entry.js';
import type { Filter } from '../../ldap/filter/filter.js';
import { keyOfDn, uuidOfEntry } from '../../ldap/naming/identifiers.js';
import type { Hint } from '../directory.js';
import { type EntryKind, KINDS } from '../source.js';
import { CONTAINERS, CountedHints, gather, HAS_SUBORDINATES, type Put } from './counted-hints.js';
import { type HintSource, isEqual, SECOND_MS, type ServerDirectory } from './server-directory.js';

/** Later than every change (RFC 4517 §3.3.13). */
const LATEST_TIME = '99991231235959Z';
const NO_COMPARISON =
  'The directory server refuses to compare times of changes: all entries are listed each time';

/** Chooses the best way that the server offers and the model permits. */
export async function chooseHints(
  directory: ServerDirectory,
  { supportedControls, kind }: RootDse,
): Promise<HintSource> {
  const { follow } = directory.config;
  const { pushesChanges, counter } = PRESETS[kind === 'other' ? DEFAULT_PRESET : kind];
  const refusals: string[] = [];
  if (follow === 'poll') refusals.push('The model sets follow: poll');
  else if (!supportedControls.includes(SYNC_REQUEST)) {
    // Where changes are numbered, nothing is missed.
    if (counter === null)
      refusals.push('The server does not push changes (RFC 4533; OpenLDAP does with the overlay syncprov)');
  } else if (follow === null && !pushesChanges)
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
  const polled = new PolledHints(directory, refusals);
  if (!(await polled.isCompared())) refusals.push(NO_COMPARISON);
  return polled;
}

/** Changes by the time of the last one, which shows neither deletions nor renamed entries. */
class PolledHints implements HintSource {
  readonly mode = 'POLLED';

  constructor(
    private readonly directory: ServerDirectory,
    readonly refusals: readonly string[],
  ) {}

  /** Whether the server shows and compares times. */
  async isCompared(): Promise<boolean> {
    return (await this.look(LATEST_TIME, true)).next !== '';
  }

  async *hints(signal: AbortSignal): AsyncGenerator<Hint> {
    let latest = '';
    let seenAt = 0;
    // Whether all entries with the latest time were named after its second.
    let isSettled = false;
    for (;;) {
      await sleep(this.directory.config.syncSeconds * 1000, undefined, { signal });
      const begun = performance.now();
      const { uuids, next } = await this.look(latest, isSettled);
      if (next === latest) isSettled ||= begun - seenAt > SECOND_MS;
      else [latest, seenAt, isSettled] = [next, performance.now(), false];
      if (uuids.length > 0) yield uuids;
      if (latest === '') yield 'scan';
    }
  }

  /** Reads which entries have the latest time or a newer one. `next` is empty if the server shows or compares no times. */
  private async look(latest: string, isSettled: boolean): Promise<{ uuids: string[]; next: string }> {
    const { modifiedAt, uuid, connection, searches } = this.directory;
    const uuids: string[] = [];
    let next = latest;
    for (const kind of KINDS) {
      const { filter } = searches[kind];
      const since: Filter = { kind: 'greaterOrEqual', attribute: modifiedAt, value: Buffer.from(latest) };
      const request = {
        ...searches[kind],
        filter: latest === '' ? filter : ({ kind: 'and', filters: [filter, since] } as const),
        attributes: [uuid, modifiedAt],
      };
      try {
        for await (const entry of readPaged(connection, request)) {
          const [time = ''] = entry.text(modifiedAt);
          if (time > next) next = time;
          if (latest === '' || (isSettled && time === latest)) continue;
          const identity = uuidOfEntry(entry, uuid);
          if (identity !== null && this.directory.covers(kind, entry.dn)) uuids.push(identity);
        }
      } catch (error) {
        // A server that does not compare times is only scanned.
        if (!(error instanceof LdapResultError) || error instanceof LimitExceededError) throw error;
        return { uuids, next: '' };
      }
    }
    return { uuids, next };
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
    return gather(signal, (put, ending) => [
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
      // Without these hints, scans find what has moved.
      if (!(error instanceof LdapResultError || error instanceof SyncRefusedError)) throw error;
    }
  }
}
