import type { LdapConnection } from '../../ldap/client/ldap-connection.js';
import { followContent, refreshOf } from '../../ldap/sync/content-sync.js';
import type { Entry } from '../../ldap/entry.js';
import type { SearchRequest } from '../../ldap/client/requests.js';
import type { ContentEvent } from '../../ldap/sync/sync-stage.js';
import { ChangeBuffer, type Changes } from '../change-buffer.js';
import { ContainerWatch } from './container-watch.js';
import { withParents } from './entry-searches.js';
import { withinBases } from './within-bases.js';
import type { LdapDirectory } from './ldap-directory.js';
import { formatPosition, type Position, refuseRefresh } from './position.js';
import { ShownNumbers } from './shown-numbers.js';
import { type EntryKind, KINDS } from '../source.js';

interface SessionOptions {
  /** Null when no content is known: the session then reads everything. */
  readonly from: Extract<Position, { kind: 'cookies' }> | null;
  /** Whether changes after the refresh are followed. */
  readonly follows: boolean;
  readonly signal: AbortSignal;
}

/** Milliseconds without an event after which the changes are one batch: an operation often causes several. */
const QUIET_MS = 10;
/** The longest time in milliseconds that a change waits for others. */
const LONGEST_BATCH_MS = 200;
/** Milliseconds after which a wait is restarted. The connection has its own timeouts. */
const LONGEST_SINGLE_WAIT_MS = 60_000;
/** Approximate number of bytes of changes in one batch. A picture can have millions of bytes. */
const LARGEST_BATCH = 32_000_000;

/**
 * Follows the people and groups of a server by content synchronization (RFC 4533). All other searches use the
 * same connection: one address may represent several servers, and a second connection could reach a server
 * that is behind, whose responses would revert changes that the first one delivered.
 */
export class ContentSession {
  readonly containers = new ContainerWatch();
  private readonly streams: Readonly<Record<EntryKind, AsyncGenerator<ContentEvent>>>;
  private readonly buffer = new ChangeBuffer(LARGEST_BATCH);
  /** The entryUUIDs of each kind that its refresh has mentioned. */
  private readonly mentioned = new Map<EntryKind, Set<string>>();
  /** The kinds whose refresh is complete, and whether the entries that it did not mention are gone. */
  private readonly refreshed = new Map<EntryKind, boolean>();
  private readonly stop = new AbortController();
  /** Covers everything that has been taken from the buffer. */
  private cookies: Map<EntryKind, Buffer>;

  private constructor(
    private readonly directory: LdapDirectory,
    private readonly connection: LdapConnection,
    /** The cookies of 389 Directory Server do not show whether another one lags. */
    readonly numbers: ShownNumbers,
    private readonly options: SessionOptions,
  ) {
    const { from } = options;
    const { person, group } = directory.searches;
    this.streams = {
      person: this.entriesOf('person', person, from?.person ?? null),
      group: this.entriesOf('group', group, from?.group ?? null),
    };
    if (from !== null) for (const kind of KINDS) this.buffer.cookies.set(kind, from[kind]);
    this.cookies = new Map(this.buffer.cookies);
  }

  /**
   * @throws ContentSyncRefusedError when the server refuses content synchronization
   * @throws LdapError when the connection ends
   */
  static async open(
    directory: LdapDirectory,
    connection: LdapConnection,
    options: SessionOptions,
  ): Promise<ContentSession> {
    const numbers = await ShownNumbers.of(directory, connection, options.from);
    const session = new ContentSession(directory, connection, numbers, options);
    try {
      // Containers are followed first, so that renames during the other refreshes are detected.
      if (options.follows) await session.followContainers();
      return session;
    } catch (error) {
      session.close();
      throw error;
    }
  }

  /**
   * The refresh of a session without a known state: yields every entry once. Between two entries, the caller
   * must not wait for another search on the connection.
   */
  async *readAll(): AsyncGenerator<{ kind: EntryKind; entry: Entry }> {
    for (const kind of KINDS) {
      for await (const event of refreshOf(this.streams[kind])) {
        if (event.kind === 'refreshed') this.endReading(kind, event.cookie);
        if (event.kind === 'entry') yield { kind, entry: event.entry };
      }
      if (this.options.follows) this.followKind(kind);
      else await this.streams[kind].return(undefined);
    }
    await this.numbers.read();
  }

  /** The cookie of a kind covers what was read. Changes that arrive while the other kind is read are in the buffer. */
  private endReading(kind: EntryKind, cookie: Buffer | null): void {
    this.buffer.keepCookie(kind, cookie);
    const kept = this.buffer.cookies.get(kind);
    if (kept !== undefined) this.cookies.set(kind, kept);
  }

  /**
   * The refresh of a session that continues an earlier one: yields the changes since then in batches. Until
   * the last batch, the position remains that of the earlier session.
   * @param known returns the entryUUIDs that the earlier session knew
   * @throws ServerBehindError when the server lacks changes that the earlier session received
   */
  async *readChanges(
    known: (kind: EntryKind) => AsyncIterable<readonly string[]>,
  ): AsyncGenerator<{ changes: Changes; isLast: boolean }> {
    for (const kind of KINDS) {
      this.mentioned.set(kind, new Set());
      this.followKind(kind);
    }
    for (;;) {
      while (this.refreshed.size < KINDS.length && !this.buffer.isFull) {
        this.buffer.throwIfFailed();
        await this.buffer.wait(LONGEST_SINGLE_WAIT_MS, this.buffer.count);
      }
      if (this.refreshed.size === KINDS.length) break;
      yield { changes: this.buffer.take(), isLast: false };
    }
    this.buffer.throwIfFailed();
    const changes = this.takeAll();
    const mentioned = new Map(this.mentioned);
    this.mentioned.clear();
    for (const kind of KINDS) {
      if (this.refreshed.get(kind) !== true) continue;
      for await (const uuids of known(kind)) {
        const gone = uuids.filter((uuid) => mentioned.get(kind)?.has(uuid) !== true);
        for (const uuid of gone) changes.delta.remove(kind, uuid);
      }
    }
    yield { changes, isLast: true };
  }

  /**
   * Waits for changes, for at most `timeoutMs` milliseconds, and returns whether there are any.
   * @throws LdapError when the server or the connection ends the session
   */
  waitForChanges(timeoutMs: number): Promise<boolean> {
    return this.buffer.wait(timeoutMs);
  }

  /**
   * Returns the changes that have arrived, after a short wait for related ones.
   * @throws LdapError as waitForChanges
   */
  async nextChanges(): Promise<Changes> {
    const latest = performance.now() + LONGEST_BATCH_MS;
    while (!this.buffer.isFull && performance.now() < latest) {
      if (!(await this.buffer.wait(QUIET_MS, this.buffer.count))) break;
    }
    return this.takeAll();
  }

  /**
   * The position from which the next session continues; null before the refresh, and when the server sends no
   * cookies.
   */
  position(): string | null {
    const person = this.cookies.get('person');
    const group = this.cookies.get('group');
    if (person === undefined || group === undefined) return null;
    const refusals = this.directory.refusals(this.connection);
    return formatPosition({ kind: 'cookies', person, group, refusals, ...this.numbers.latest });
  }

  /** Ends the searches and keeps the connection open. */
  close(): void {
    this.stop.abort(new Error('The session was closed'));
  }

  private async followContainers(): Promise<void> {
    const stream = this.streamOf(withParents(this.directory.containers), null);
    for await (const event of refreshOf(stream)) this.containers.note(event);
    // The first refresh lists the containers and is not a change.
    this.containers.takeMoved();
    void this.pump(stream, (event) => {
      this.containers.note(event);
      if (this.containers.hasMoved) this.buffer.note();
    });
  }

  private followKind(kind: EntryKind): void {
    void this.pump(this.streams[kind], (event) => {
      this.receive(kind, event);
    });
  }

  /**
   * A search that persists, even if only the refresh is wanted: in a search that does not persist, OpenLDAP
   * omits every entry that is changed during the refresh, as if it had been deleted.
   */
  private streamOf(search: SearchRequest, cookie: Buffer | null): AsyncGenerator<ContentEvent> {
    const signal = AbortSignal.any([this.options.signal, this.stop.signal]);
    return followContent(this.connection, { ...search, cookie, persist: true, signal });
  }

  private entriesOf(kind: EntryKind, search: SearchRequest, cookie: Buffer | null) {
    return withinBases(this.streamOf(search, cookie), (dn) => this.directory.covers(kind, dn));
  }

  /** Returns all buffered changes, and updates the cookies that represent them. */
  private takeAll(): Changes {
    this.cookies = new Map(this.buffer.cookies);
    return this.buffer.take();
  }

  private async pump(
    stream: AsyncGenerator<ContentEvent>,
    receive: (event: ContentEvent) => void,
  ): Promise<void> {
    try {
      for await (const event of stream) receive(event);
    } catch (error) {
      this.buffer.fail(error instanceof Error ? error : new Error('The session ended', { cause: error }));
    }
  }

  private receive(kind: EntryKind, event: ContentEvent): void {
    const mentioned = this.mentioned.get(kind);
    if (event.kind === 'entry') {
      mentioned?.add(event.uuid);
      this.buffer.put(kind, event.uuid, event.entry);
    }
    if (event.kind === 'present') for (const uuid of event.uuids) mentioned?.add(uuid);
    if (event.kind === 'deleted') for (const uuid of event.uuids) this.buffer.remove(kind, uuid);
    if (event.kind === 'refreshed') this.endRefresh(kind, event);
    if (event.kind !== 'present') this.buffer.keepCookie(kind, event.cookie);
  }

  private endRefresh(
    kind: EntryKind,
    { unmentionedAreGone, cookie }: Extract<ContentEvent, { kind: 'refreshed' }>,
  ): void {
    const { from } = this.options;
    if (from !== null) refuseRefresh(from, kind, { unmentionedAreGone, cookie });
    this.refreshed.set(kind, unmentionedAreGone);
    this.buffer.note();
  }
}
