import { followContent, type SyncEvent, SyncRefusedError } from '../../ldap/client/content-sync.js';
import { LdapResultError } from '../../ldap/client/ldap-error.js';
import type { SearchRequest } from '../../ldap/client/requests.js';
import type { Entry } from '../../ldap/entry.js';
import { keyOfDn } from '../../ldap/naming/dn-key.js';
import { uuidOfEntry } from '../../ldap/naming/entry-uuid.js';
import type { Hint } from '../directory.js';
import { type EntryKind, KINDS } from '../source.js';
import { containersBelow, isEqual } from './entry-searches.js';
import { gather, type HintedServer, type HintSource, type Put } from './hint-source.js';

/**
 * Changes that the server pushes by content synchronization (RFC 4533), from its present contextCSN on. Messages name entries; what they
 * contain is not used.
 */
export class PushedHints implements HintSource {
  readonly mode = 'PUSHED';
  readonly refusals = [];

  constructor(private readonly directory: HintedServer) {}

  /** The protocol reports entries by entryUUID, which has to be the identifier. Other servers can have another one in its place. */
  async findRefusal(): Promise<string | null> {
    const { config, uuid, searches } = this.directory;
    if (config.follow !== 'push' && uuid.toLowerCase() !== 'entryuuid')
      return `Pushed changes are identified by entryUUID, but the key uuid of the model is ${uuid}`;
    for (const kind of KINDS) {
      try {
        const refusal = await this.findRefusalOf(searches[kind]);
        if (refusal !== null) return refusal;
      } catch (error) {
        if (!(error instanceof SyncRefusedError)) throw error;
        return `${error.message}, for ${searches[kind].base}`;
      }
    }
    return null;
  }

  /** Looks for an entry of a usual search: OpenLDAP omits databases that are glued below one that pushes changes. */
  private async findRefusalOf(search: SearchRequest): Promise<string | null> {
    const { connection, config, uuid } = this.directory;
    const isChosen = config.follow === 'push';
    const first = await this.findFirst(search);
    const [value] = first?.bytes(uuid) ?? [];
    if (first !== null && value === undefined) return `Pushed changes are not identified by ${uuid}`;
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
    return first === null ? null : `The directory server omits ${search.base} from content synchronization`;
  }

  private async findFirst(search: SearchRequest): Promise<Entry | null> {
    const { connection, uuid } = this.directory;
    for await (const message of connection.search({ ...search, attributes: [uuid] }))
      if (message.kind === 'entry') return message.entry;
    return null;
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
    csns = this.directory.csns.shown,
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
      const request = { ...containersBelow(config.baseDn), csns: [], persist: true, signal };
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
