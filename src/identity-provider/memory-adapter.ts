import { LRUCache } from 'lru-cache';
import type { Adapter, AdapterPayload } from 'oidc-provider';
import { InvalidGrant } from 'oidc-provider/lib/helpers/errors.js';

/** Maximum number of entries of one model: far more than a demonstration needs, and a bound on memory. */
const MAXIMUM_ENTRIES = 5000;
/** Maximum total size in characters of JSON, because clients choose the length of their parameters. */
const MAXIMUM_SIZE = 10_000_000;
/**
 * Seconds for which an expired device code is still known, so that the response is `expired_token`
 * (RFC 8628 §3.5) and not `invalid_grant`.
 */
const EXPIRED_DEVICE_CODE = 600;

/**
 * Keeps codes, sessions, grants and refresh tokens while they are valid and fit into the limits; those used least recently go
 * first. A restart removes all. Each model has a separate adapter, so that unused device codes cannot displace sessions.
 */
export class MemoryAdapter implements Adapter {
  private readonly entries: LRUCache<string, AdapterPayload>;

  /** @param model name of the model that oidc-provider stores here */
  constructor(
    private readonly model: string,
    maximumEntries = MAXIMUM_ENTRIES,
    maximumSize = MAXIMUM_SIZE,
  ) {
    this.entries = new LRUCache({
      max: maximumEntries,
      maxSize: maximumSize,
      sizeCalculation: (payload) => JSON.stringify(payload).length,
    });
  }

  upsert(id: string, payload: AdapterPayload, expiresIn?: number): Promise<void> {
    const kept = this.model === 'DeviceCode' ? EXPIRED_DEVICE_CODE : 0;
    this.entries.set(id, payload, expiresIn === undefined ? {} : { ttl: (expiresIn + kept) * 1000 });
    return Promise.resolve();
  }

  find(id: string): Promise<AdapterPayload | undefined> {
    return Promise.resolve(this.entries.get(id));
  }

  findByUid(uid: string): Promise<AdapterPayload | undefined> {
    return Promise.resolve(this.entries.find((payload) => payload.uid === uid));
  }

  findByUserCode(userCode: string): Promise<AdapterPayload | undefined> {
    return Promise.resolve(this.entries.find((payload) => payload.userCode === userCode));
  }

  /**
   * Marks a code or a refresh token as used. It stays stored, so that a second use is detected.
   * @throws InvalidGrant if it is used already: of two requests at once, both have found it unused
   */
  async consume(id: string): Promise<void> {
    const payload = this.entries.get(id);
    if (payload === undefined || payload.consumed !== undefined) throw new InvalidGrant('already consumed');
    payload.consumed = Math.floor(Date.now() / 1000);
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
