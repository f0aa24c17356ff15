import { mergeCookies } from '../ldap/sync/sync-cookie.js';
import type { Entry } from '../ldap/entry.js';
import { DeltaBuilder } from './delta.js';
import { type EntryKind } from './source.js';

export interface Changes {
  readonly delta: DeltaBuilder;
  /** The entryUUIDs of changed entries that exceeded the capacity and have to be read again. */
  readonly unread: ReadonlySet<string>;
}

/**
 * Buffer for changes between the streams of a session and the mirror. It accepts all events immediately: a
 * stream that waited would stop the server, and with it the searches that the mirror needs to apply changes.
 * Beyond the capacity, only the identifier of an entry is kept.
 */
export class ChangeBuffer {
  /** The latest cookie of each kind. It covers everything that has arrived. */
  readonly cookies = new Map<EntryKind, Buffer>();
  private delta = new DeltaBuilder();
  private unread = new Set<string>();
  private arrived = 0;
  private error: Error | null = null;
  private wake: () => void = () => undefined;

  /** @param capacity approximate number of bytes of entries that are kept */
  constructor(private readonly capacity: number) {}

  /** Number of events since the last take. */
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

  /** Counts an event and wakes the waiting reader. */
  note(): void {
    this.arrived++;
    this.wake();
  }

  /** Marks the end of a stream. The first error is kept. */
  fail(error: Error): void {
    this.error ??= error;
    this.wake();
  }

  throwIfFailed(): void {
    if (this.error !== null) throw this.error;
  }

  take(): Changes {
    const { delta, unread } = this;
    this.delta = new DeltaBuilder();
    this.unread = new Set();
    this.arrived = 0;
    return { delta, unread };
  }

  /**
   * Waits until more than `beyond` events have arrived since the last take, for at most `milliseconds`, and
   * returns whether they have.
   * @throws the error that ended a stream, once all earlier changes have been taken
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
