import type { LdapConnection } from '../ldap/connection.js';
import { followContent } from '../ldap/content-sync.js';
import { keyOfDn } from '../ldap/dn-key.js';
import { Entry } from '../ldap/entry.js';
import type { SearchRequest } from '../ldap/requests.js';
import { mergeCookies } from '../ldap/sync-cookie.js';
import type { ContentEvent } from '../ldap/sync-stage.js';
import { DeltaBuilder, weigh } from './delta.js';
import { EventQueue } from './event-queue.js';
import { KINDS, type LdapDirectory } from './ldap-directory.js';
import { formatPosition, type Position } from './position.js';
import type { EntryKind } from './source.js';

type Cookies = Extract<Position, { kind: 'cookies' }>;

export interface SessionOptions {
  /** Null: nothing is known, everything is read. */
  readonly from: Cookies | null;
  /** Goes on with every change after the refresh. */
  readonly persist: boolean;
  readonly signal: AbortSignal;
}

/** Milliseconds of quiet after which what has come is taken together: one operation of a client is often several. */
const QUIET = 10;
/** Milliseconds that a change waits at most for others to come. */
const LONGEST_WAIT = 200;
/** About as many bytes of changes as are taken together at most: a picture has up to millions. */
const LARGEST_BATCH = 32_000_000;
/** About as many bytes of events as wait for the mirror before the server has to. */
const CAPACITY = 16_000_000;

/** What an event that brings no entry takes up. */
const SMALL = 500;

/** What is followed: people, groups, and what they stand below. */
type Stream = EntryKind | 'container';

/**
 * The people and groups of a server, followed by content synchronisation (RFC 4533): each on a connection of its
 * own, since one that is read slowly holds up everything on its connection.
 */
export class ContentSession {
  private readonly connections: LdapConnection[] = [];
  private readonly streams = new Map<Stream, AsyncGenerator<ContentEvent>>();
  private readonly cookies = new Map<EntryKind, Buffer>();
  private readonly queue = new EventQueue<{ kind: Stream; event: ContentEvent }>(CAPACITY);
  private readonly containers = new Map<string, string>();
  private moved = false;
  private lookedAt = new Date();

  private constructor(
    private readonly directory: LdapDirectory,
    private readonly options: SessionOptions,
  ) {}

  /** @throws LdapError when a connection cannot be had; ContentSyncRefusedError when the server wants none of it */
  static async open(directory: LdapDirectory, options: SessionOptions): Promise<ContentSession> {
    const session = new ContentSession(directory, options);
    try {
      // First, so that whatever is renamed while the others are read is seen to have been.
      if (options.persist) await session.openContainers();
      for (const kind of KINDS) {
        const cookie = options.from?.[kind] ?? null;
        if (cookie !== null) session.cookies.set(kind, cookie);
        await session.open(kind, directory.searches[kind], cookie);
      }
      return session;
    } catch (error) {
      session.close();
      throw error;
    }
  }

  /** The refresh of a session that knows nothing: every entry, each once. */
  async *readAll(): AsyncGenerator<{ kind: EntryKind; entry: Entry }> {
    for (const kind of KINDS) {
      for await (const event of this.refresh(kind)) {
        if (event.kind === 'entry') yield { kind, entry: withUuid(event.entry, event.uuid) };
      }
    }
  }

  /**
   * The refresh of a session that goes on where another one ended: what has changed since, piece by piece. After each,
   * the position is that of everything up to there.
   * @param known gives the entryUUIDs that the other one had come to know
   */
  async *readChanges(
    known: (kind: EntryKind) => Promise<readonly string[]>,
  ): AsyncGenerator<{ changes: DeltaBuilder; isLast: boolean }> {
    let delta = new DeltaBuilder();
    for (const kind of KINDS) {
      const mentioned = new Set<string>();
      for await (const event of this.refresh(kind)) {
        this.gather(delta, kind, event);
        if (event.kind === 'entry') mentioned.add(event.uuid);
        if (event.kind === 'present') for (const uuid of event.uuids) mentioned.add(uuid);
        if (event.kind === 'refreshed' && event.unmentionedAreGone) {
          for (const uuid of await known(kind)) if (!mentioned.has(uuid)) delta.remove(kind, uuid);
        }
        if (delta.weight < LARGEST_BATCH) continue;
        yield { changes: delta, isLast: false };
        delta = new DeltaBuilder();
      }
    }
    yield { changes: delta, isLast: true };
  }

  /** After the refresh: begins to follow. */
  follow(): void {
    for (const [kind, stream] of this.streams) void this.pump(kind, stream);
  }

  /**
   * The next changes; null when there are none for as long.
   * @param patience milliseconds
   * @throws LdapError when the server or the connection ends the session
   */
  async nextChanges(patience: number): Promise<DeltaBuilder | null> {
    if (!(await this.queue.wait(patience))) return null;
    const delta = new DeltaBuilder();
    const begun = new Date();
    const latest = performance.now() + LONGEST_WAIT;
    let isAll: boolean;
    do {
      isAll = !this.queue.isFull;
      for (const { kind, event } of this.queue.take()) {
        if (kind === 'container') this.noteContainer(event);
        else this.gather(delta, kind, event);
      }
    } while (delta.weight < LARGEST_BATCH && performance.now() < latest && (await this.queue.wait(QUIET)));
    if (isAll) this.lookedAt = begun;
    return delta;
  }

  /** What was changed before is among the changes that have been given out. */
  get asOf(): Date {
    return this.lookedAt;
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

  close(): void {
    for (const connection of this.connections) connection.close();
  }

  private async open(kind: Stream, search: SearchRequest, cookie: Buffer | null): Promise<void> {
    const { persist, signal } = this.options;
    const connection = await this.directory.connect(signal);
    this.connections.push(connection);
    this.streams.set(kind, followContent(connection, { ...search, cookie, persist, signal }));
  }

  private async openContainers(): Promise<void> {
    await this.open('container', this.directory.containers, null);
    for await (const event of this.refresh('container')) this.noteContainer(event);
    // They are only come to be known.
    this.moved = false;
  }

  /** The events of a stream up to the end of its refresh; the stream is left open. */
  private async *refresh(kind: Stream): AsyncGenerator<ContentEvent> {
    const stream = this.streams.get(kind);
    for (;;) {
      const next = await stream?.next();
      if (next === undefined || next.done === true) return;
      if (next.value.kind === 'refreshed' && kind !== 'container') this.keepCookie(kind, next.value.cookie);
      yield next.value;
      if (next.value.kind === 'refreshed') return;
    }
  }

  private async pump(kind: Stream, stream: AsyncGenerator<ContentEvent>): Promise<void> {
    try {
      for await (const event of stream) {
        await this.queue.put({ kind, event }, event.kind === 'entry' ? weigh(event.entry) : SMALL);
      }
    } catch (error) {
      this.queue.fail(error instanceof Error ? error : new Error('The session ended', { cause: error }));
    }
  }

  private gather(delta: DeltaBuilder, kind: EntryKind, event: ContentEvent): void {
    if (event.kind === 'entry') delta.put(kind, event.uuid, withUuid(event.entry, event.uuid));
    if (event.kind === 'deleted') for (const uuid of event.uuids) delta.remove(kind, uuid);
    if (event.kind !== 'present' && event.kind !== 'refreshed') this.keepCookie(kind, event.cookie);
  }

  private keepCookie(kind: EntryKind, cookie: Buffer | null): void {
    if (cookie === null) return;
    const merged = mergeCookies(this.cookies.get(kind) ?? null, cookie);
    if (merged !== null) this.cookies.set(kind, merged);
  }

  private noteContainer(event: ContentEvent): void {
    if (event.kind === 'deleted') {
      for (const uuid of event.uuids) this.moved = this.containers.delete(uuid) || this.moved;
    }
    if (event.kind !== 'entry') return;
    const key = keyOfDn(event.entry.dn);
    if (this.containers.get(event.uuid) === key) return;
    this.moved = true;
    this.containers.set(event.uuid, key);
  }
}

/** The protocol gives the identity, also where the account may not read the attribute. */
function withUuid(entry: Entry, uuid: string): Entry {
  if (entry.bytes('entryUUID').length > 0) return entry;
  return new Entry(entry.dn, [...entry.attributes, ['entryUUID', [Buffer.from(uuid)]]]);
}
