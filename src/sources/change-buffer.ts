import { mergeCookies } from '../ldap/sync/sync-cookie.js';
import type { Entry } from '../ldap/entry.js';
import { DeltaBuilder } from './delta.js';
import { type EntryKind } from './source.js';

/** What has changed in a directory, as far as a session has been told. */
export interface Changes {
  readonly delta: DeltaBuilder;
  /** The entryUUIDs of changed entries that were too much to keep: they have to be read. */
  readonly unread: ReadonlySet<string>;
}

/**
 * Changes on their way from the streams of a session to the mirror.
 *
 * It takes everything at once: a stream that waited would make the server wait, and with it every other search on the
 * connection, among them those that the mirror needs to take changes over. Memory is bounded all the same: beyond the
 * capacity only the identity of an entry is kept.
 */
export class ChangeBuffer {
  /** The latest cookie of each kind: it stands for everything that has come. */
  readonly cookies = new Map<EntryKind, Buffer>();
  private delta = new DeltaBuilder();
  private unread = new Set<string>();
  private arrived = 0;
  private error: Error | null = null;
  private wake: () => void = () => undefined;

  /** @param capacity bytes of entries, about, that are kept */
  constructor(private readonly capacity: number) {}

  /** Events since the last take. */
  get count(): number {
    return this.arrived;
  }

  get isFull(): boolean {
    return this.delta.weight >= this.capacity;
  }

  put(kind: EntryKind, uuid: string, entry: Entry): void {
    if (this.isFull) this.unread.add(uuid);
    else {
      this.unread.delete(uuid);
      this.delta.put(kind, uuid, entry);
    }
    this.note();
  }

  remove(kind: EntryKind, uuid: string): void {
    this.delta.remove(kind, uuid);
    this.note();
  }

  keepCookie(kind: EntryKind, cookie: Buffer | null): void {
    if (cookie === null) return;
    const merged = mergeCookies(this.cookies.get(kind) ?? null, cookie);
    if (merged !== null) this.cookies.set(kind, merged);
    this.note();
  }

  /** Something has come. */
  note(): void {
    this.arrived++;
    this.wake();
  }

  /** A stream has ended. The first error counts. */
  fail(error: Error): void {
    this.error ??= error;
    this.wake();
  }

  throwIfFailed(): void {
    if (this.error !== null) throw this.error;
  }

  /** Everything that has come. */
  take(): Changes {
    const { delta, unread } = this;
    this.delta = new DeltaBuilder();
    this.unread = new Set();
    this.arrived = 0;
    return { delta, unread };
  }

  /**
   * Waits until more than this many events have come since the last take.
   * @param milliseconds how long at most
   * @returns whether they have
   * @throws what a stream ended with, once everything before has been taken
   */
  async wait(milliseconds: number, beyond = 0): Promise<boolean> {
    if (this.arrived <= beyond && this.error === null) {
      await new Promise<void>((resolve) => {
        const timeout = setTimeout(resolve, milliseconds);
        this.wake = () => {
          clearTimeout(timeout);
          resolve();
        };
      });
      this.wake = () => undefined;
    }
    if (this.arrived > beyond) return true;
    if (this.arrived === 0) this.throwIfFailed();
    return false;
  }
}
