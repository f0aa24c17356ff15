import { LdapError, LdapResultError } from '../../ldap/client/ldap-error.js';
import type { Entry } from '../../ldap/entry.js';
import { keyOfDn } from '../../ldap/naming/dn-key.js';
import type { SearchRequest } from '../../ldap/client/requests.js';
import { uuidOfEntry } from '../../ldap/naming/entry-uuid.js';
import { followContent } from '../../ldap/sync/content-sync.js';
import { ContentSyncRefusedError, RefreshRequiredError } from '../../ldap/sync/content-sync-error.js';
import { mergeCookies } from '../../ldap/sync/sync-cookie.js';
import type { ContentEvent } from '../../ldap/sync/sync-stage.js';
import type { Hint } from '../directory.js';
import { KINDS } from '../source.js';
import { containersBelow, isEqual, withParents } from './entry-searches.js';
import type { HintedServer, HintSource } from './hint-source.js';
import { Inbox } from './hint-inbox.js';

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
    if (config.follow !== 'told' && uuid.toLowerCase() !== 'entryuuid')
      return `Pushed changes are identified by entryUUID, but the key uuid of the model is ${uuid}`;
    for (const kind of KINDS) {
      try {
        const refusal = await this.findRefusalOf(searches[kind]);
        if (refusal !== null) return refusal;
      } catch (error) {
        if (!(error instanceof ContentSyncRefusedError)) throw error;
        return error.cause === undefined ? error.message : `${error.message}, for ${searches[kind].base}`;
      }
    }
    return null;
  }

  /** Looks for an entry of a usual search: OpenLDAP omits databases that are glued below one that pushes changes. */
  private async findRefusalOf(search: SearchRequest): Promise<string | null> {
    const { connection, config, uuid } = this.directory;
    const isChosen = config.follow === 'told';
    const first = await this.findFirst(search);
    const [value] = first?.bytes(uuid) ?? [];
    if (first !== null && value === undefined) return `Pushed changes are not identified by ${uuid}`;
    const filters = [search.filter, ...(value === undefined ? [] : [isEqual(uuid, value)])];
    // OpenLDAP omits only if the search persists. 389 Directory Server cannot end such a one before the connection, and has few of them.
    const request = {
      ...search,
      filter: { kind: 'and', filters },
      cookie: null,
      persist: !isChosen,
    } as const;
    for await (const event of followContent(connection, { ...request, attributes: [uuid] })) {
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
    const { shownCsns } = this.directory;
    return shownCsns.length === 0
      ? null
      : mergeCookies(null, Buffer.from(`rid=000,csn=${shownCsns.join(';')}`, 'latin1'));
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
      const request = {
        ...withParents(containersBelow(config.baseDn)),
        attributes: ['1.1'],
        persist: true,
        signal,
      };
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
