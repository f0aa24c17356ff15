import { LRUCache } from 'lru-cache';
import type { Adapter, Payload } from 'oidc-provider/lib/provider.js';

/** Entries that one model may have. Far more than a demonstration needs, and a bound for whoever asks for more. */
const MAXIMUM_ENTRIES = 5000;
/** Characters that they may have together, as JSON: clients choose how long their parameters are. */
const MAXIMUM_SIZE = 10_000_000;

/**
 * Keeps codes, sessions, grants and refresh tokens in the memory of this process, as long as they are valid and
 * there is room: the least recently used go first. A restart ends them all, and people sign in again. Each model
 * has an adapter of its own, so that device codes that nobody uses cannot push sessions out.
 */
export class MemoryAdapter implements Adapter {
  private readonly entries: LRUCache<string, Payload>;

  constructor(maximumEntries = MAXIMUM_ENTRIES, maximumSize = MAXIMUM_SIZE) {
    this.entries = new LRUCache({
      max: maximumEntries,
      maxSize: maximumSize,
      sizeCalculation: (payload) => JSON.stringify(payload).length,
    });
  }

  upsert(id: string, payload: Payload, expiresIn?: number): Promise<void> {
    this.entries.set(id, payload, expiresIn === undefined ? {} : { ttl: expiresIn * 1000 });
    return Promise.resolve();
  }

  find(id: string): Promise<Payload | undefined> {
    return Promise.resolve(this.entries.get(id));
  }

  findByUid(uid: string): Promise<Payload | undefined> {
    return Promise.resolve(this.entries.find((payload) => payload.uid === uid));
  }

  findByUserCode(userCode: string): Promise<Payload | undefined> {
    return Promise.resolve(this.entries.find((payload) => payload.userCode === userCode));
  }

  /** Marks a code or a refresh token as used; it stays, so that a second use is noticed. */
  consume(id: string): Promise<void> {
    const payload = this.entries.get(id);
    if (payload !== undefined) payload.consumed = Math.floor(Date.now() / 1000);
    return Promise.resolve();
  }

  destroy(id: string): Promise<void> {
    this.entries.delete(id);
    return Promise.resolve();
  }

  revokeByGrantId(grantId: string): Promise<void> {
    for (const [id, payload] of [...this.entries.entries()]) {
      if (payload.grantId === grantId) this.entries.delete(id);
    }
    return Promise.resolve();
  }
}
