import type { LdapConnection } from '../../ldap/client/ldap-connection.js';
import { followContent } from '../../ldap/sync/content-sync.js';
import { keyOfDn } from '../../ldap/naming/dn-key.js';
import { Entry } from '../../ldap/entry.js';
import type { SearchRequest } from '../../ldap/client/requests.js';
import type { ContentEvent } from '../../ldap/sync/sync-stage.js';
import { ChangeBuffer, type Changes } from '../change-buffer.js';
import { KINDS, type LdapDirectory } from './ldap-directory.js';
import { describeHidden, formatPosition, type Position, refuseBehind, stateOf } from './position.js';
import { ServerBehindError } from './server-behind.error.js';
import type { EntryKind } from '../source.js';

type Cookies = Extract<Position, { kind: 'cookies' }>;

export interface SessionOptions {
  /** Null: nothing is known, everything is read. */
  readonly from: Cookies | null;
  /** Goes on with every change after the refresh. */
  readonly follows: boolean;
  readonly signal: AbortSignal;
}

/** Milliseconds of quiet after which what has come is taken together: one operation of a client is often several. */
const QUIET = 10;
/** Milliseconds that a change waits at most for others to come. */
const LONGEST_WAIT = 200;
/** Milliseconds after which a wait begins anew; the connection has its own limits. */
const LONG = 60_000;
/** About as many bytes of changes as are taken together at most: a picture has up to millions. */
const LARGEST_BATCH = 32_000_000;

/** What is followed: people, groups, and what they stand below. */
type Stream = EntryKind | 'container';

/**
 * The people and groups of a server, followed by content synchronisation (RFC 4533), over the connection that everything
 * else is asked on. Behind one address there may be several servers: a second connection might reach one that is
 * behind, and what it answers would undo what the first one told.
 */
export class ContentSession {
  private readonly streams = new Map<Stream, AsyncGenerator<ContentEvent>>();
  private readonly buffer = new ChangeBuffer(LARGEST_BATCH);
  private readonly containers = new Map<string, string>();
  /** The identities of each kind that its refresh has mentioned. */
  private readonly mentioned = new Map<EntryKind, Set<string>>();
  /** The kinds whose refresh is over, and whether what it did not mention is gone. */
  private readonly refreshed = new Map<EntryKind, boolean>();
  /** Ends the searches, and leaves the connection open. */
  private readonly stop = new AbortController();
  private cookies = new Map<EntryKind, Buffer>();
  private moved = false;

  private constructor(
    private readonly directory: LdapDirectory,
    private readonly connection: LdapConnection,
    private readonly options: SessionOptions,
  ) {}

  /** @throws ContentSyncRefusedError when the server refuses content synchronisation; LdapError when the connection ends */
  static async open(
    directory: LdapDirectory,
    connection: LdapConnection,
    options: SessionOptions,
  ): Promise<ContentSession> {
    const session = new ContentSession(directory, connection, options);
    try {
      // First, so that whatever is renamed while the others are read is seen to have been.
      if (options.follows) await session.openContainers();
      for (const kind of KINDS) session.openKind(kind);
      return session;
    } catch (error) {
      session.close();
      throw error;
    }
  }

  /**
   * The refresh of a session that knows nothing: every entry, each once. Between two entries no other search on the
   * connection may be waited for.
   */
  async *readAll(): AsyncGenerator<{ kind: EntryKind; entry: Entry }> {
    for (const kind of KINDS) {
      const stream = this.streamOf(kind);
      for await (const event of refreshOf(stream)) {
        if (event.kind === 'refreshed') this.buffer.keepCookie(kind, event.cookie);
        if (event.kind === 'entry') yield { kind, entry: withUuid(event.entry, event.uuid) };
      }
      if (this.options.follows) void this.pump(kind);
      else await stream.return(undefined);
    }
    this.cookies = new Map(this.buffer.cookies);
  }

  /**
   * The refresh of a session that goes on where another one ended: what has changed since, piece by piece. The position
   * is that of the other session until the last piece.
   * @param known gives the entryUUIDs that the other one had come to know
   * @throws ServerBehindError when the server does not have all that the other one had seen
   */
  async *readChanges(
    known: (kind: EntryKind) => Promise<readonly string[]>,
  ): AsyncGenerator<{ changes: Changes; isLast: boolean }> {
    for (const kind of KINDS) {
      this.mentioned.set(kind, new Set());
      void this.pump(kind);
    }
    for (;;) {
      while (this.refreshed.size < KINDS.length && !this.buffer.isFull) {
        this.buffer.throwIfFailed();
        await this.buffer.wait(LONG, this.buffer.count);
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
      for (const uuid of await known(kind)) {
        if (mentioned.get(kind)?.has(uuid) !== true) changes.delta.remove(kind, uuid);
      }
    }
    yield { changes, isLast: true };
  }

  /**
   * Waits for changes.
   * @param patience milliseconds
   * @returns whether there are any
   * @throws LdapError when the server or the connection ends the session
   */
  waitForChanges(patience: number): Promise<boolean> {
    return this.buffer.wait(patience);
  }

  /**
   * The changes that have come, with those that belong to them.
   * @throws LdapError as waitForChanges
   */
  async nextChanges(): Promise<Changes> {
    const latest = performance.now() + LONGEST_WAIT;
    while (!this.buffer.isFull && performance.now() < latest) {
      if (!(await this.buffer.wait(QUIET, this.buffer.count))) break;
    }
    return this.takeAll();
  }

  /** Something that people or groups stand below has come, gone or been renamed since takeMoved: so may have they. */
  get hasMoved(): boolean {
    return this.moved;
  }

  takeMoved(): boolean {
    const { moved } = this;
    this.moved = false;
    return moved;
  }

  /** From where the next session goes on; null before the refresh, and where the server gives no cookies. */
  position(): string | null {
    const person = this.cookies.get('person');
    const group = this.cookies.get('group');
    return person === undefined || group === undefined
      ? null
      : formatPosition({ kind: 'cookies', person, group });
  }

  /** Ends the searches; the connection stays. */
  close(): void {
    this.stop.abort(new Error('The session was closed'));
  }

  private openKind(kind: EntryKind): void {
    const cookie = this.options.from?.[kind] ?? null;
    if (cookie !== null) {
      this.buffer.cookies.set(kind, cookie);
      this.cookies.set(kind, cookie);
    }
    this.openStream(kind, this.directory.searches[kind], cookie);
  }

  private async openContainers(): Promise<void> {
    const stream = this.openStream('container', this.directory.containers, null);
    for await (const event of refreshOf(stream)) this.noteContainer(event);
    // They are only come to be known.
    this.moved = false;
    void this.pump('container');
  }

  /**
   * Asks for what follows the refresh also where it is not wanted: without, OpenLDAP leaves out of the refresh every
   * entry that is changed during it, as if it had been deleted.
   */
  private openStream(
    kind: Stream,
    search: SearchRequest,
    cookie: Buffer | null,
  ): AsyncGenerator<ContentEvent> {
    const signal = AbortSignal.any([this.options.signal, this.stop.signal]);
    const stream = followContent(this.connection, { ...search, cookie, persist: true, signal });
    this.streams.set(kind, stream);
    return stream;
  }

  private streamOf(kind: Stream): AsyncGenerator<ContentEvent> {
    const stream = this.streams.get(kind);
    if (stream === undefined) throw new Error(`There is no stream of ${kind}`);
    return stream;
  }

  /** Everything that has come, with the cookies that stand for it. */
  private takeAll(): Changes {
    this.cookies = new Map(this.buffer.cookies);
    return this.buffer.take();
  }

  /** Takes the events of a stream as they come. */
  private async pump(kind: Stream): Promise<void> {
    try {
      for await (const event of this.streamOf(kind)) {
        if (kind === 'container') this.noteContainer(event);
        else this.receive(kind, event);
      }
    } catch (error) {
      this.buffer.fail(error instanceof Error ? error : new Error('The session ended', { cause: error }));
    }
  }

  private receive(kind: EntryKind, event: ContentEvent): void {
    const mentioned = this.mentioned.get(kind);
    if (event.kind === 'entry') {
      mentioned?.add(event.uuid);
      this.buffer.put(kind, event.uuid, withUuid(event.entry, event.uuid));
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
    if (from !== null) {
      const known = stateOf(from);
      const current = stateOf({ ...from, [kind]: cookie ?? Buffer.alloc(0) });
      if (cookie !== null) refuseBehind(known, current);
      // Without an end that says how far the server is, what it did not mention may be what it lacks.
      const hidden = describeHidden(known, current);
      if (unmentionedAreGone && hidden !== null) throw new ServerBehindError(hidden);
    }
    this.refreshed.set(kind, unmentionedAreGone);
    this.buffer.note();
  }

  private noteContainer(event: ContentEvent): void {
    if (event.kind === 'deleted') {
      for (const uuid of event.uuids) this.moved = this.containers.delete(uuid) || this.moved;
    }
    if (event.kind === 'entry') {
      const key = keyOfDn(event.entry.dn);
      this.moved ||= this.containers.get(event.uuid) !== key;
      this.containers.set(event.uuid, key);
    }
    if (this.moved) this.buffer.note();
  }
}

/** The events of a stream up to the end of its refresh; the stream is left open. */
async function* refreshOf(stream: AsyncGenerator<ContentEvent>): AsyncGenerator<ContentEvent> {
  for (;;) {
    const next = await stream.next();
    if (next.done === true) return;
    yield next.value;
    if (next.value.kind === 'refreshed') return;
  }
}

/** The protocol gives the identity, also where the account may not read the attribute. */
function withUuid(entry: Entry, uuid: string): Entry {
  if (entry.bytes('entryUUID').length > 0) return entry;
  return new Entry(entry.dn, [...entry.attributes, ['entryUUID', [Buffer.from(uuid)]]]);
}
