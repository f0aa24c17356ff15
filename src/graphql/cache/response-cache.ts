import { Inject, Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import type { CacheStatistics } from '../../common/cache-statistics.js';
import type { Config } from '../../config/config.js';
import { CONFIG } from '../../config/config.module.js';
import { Revisions } from '../../database/revisions/revisions.js';
import type { ChangedObjects } from '../../database/revisions/changed-objects.js';
import type { Coding } from '../http/compression.js';
import { bytesOf, type CachedResponse, type FlightKey } from './cached-response.js';
import { DependencyIndex } from './dependency-index.js';
import { periodOfUrls, type SignedPlace, type SignedUser, type UrlRenewal } from './url-renewal.js';
import type { CacheDependency } from './cache-policy.decorator.js';
import { type Principal } from '../../auth/principal.js';
import { nameOfScopes } from '../../auth/access.js';

/** Responses that are valid for the current revision (docs/adr/0017): those that no revision since has changed. */
@Injectable()
export class ResponseCache {
  private readonly responses: LRUCache<string, CachedResponse>;
  private readonly index = new DependencyIndex();
  private readonly admissionFilter = new CacheAdmissionFilter();
  private readonly isOff: boolean;
  /** Null: responses with signed URLs are valid for their period. */
  renewal: UrlRenewal | null = null;
  private hits = 0;
  private misses = 0;

  constructor(
    @Inject(CONFIG) { limits }: Config,
    readonly revisions: Revisions,
  ) {
    const maxSize = limits.responseCacheMegabytes * 1_000_000;
    this.isOff = maxSize === 0;
    this.responses = new LRUCache({
      maxSize: Math.max(1, maxSize),
      sizeCalculation: bytesOf,
      dispose: ({ reads }, name) => {
        this.index.delete(name, reads);
      },
    });
    revisions.onChanged((changes) => {
      this.removeChanged(changes);
    });
  }

  /** Null if there is no response for the current revision and period. */
  find(key: ResponseCacheKey): CachedResponse | null {
    if (this.isOff || this.revisions.current === null) return null;
    const response =
      this.responses.get(key.sharedKey) ??
      (key.principal === null ? undefined : this.responses.get(key.ownKey));
    if (response === undefined || !this.isOfThisPeriod(response)) {
      this.misses++;
      return null;
    }
    this.hits++;
    return response;
  }

  /** Where the signed URLs of a response of this period stand; null if it has none, or if they cannot be signed again. */
  placesOf(body: Buffer, period: number | null, users: readonly SignedUser[]): readonly SignedPlace[] | null {
    return period === null ? null : (this.renewal?.locate(body, users) ?? null);
  }

  /** Signs the URLs of an earlier period again, and keeps the rest. */
  private isOfThisPeriod(response: CachedResponse): boolean {
    if (response.period === null) return true;
    const period = periodOfUrls(new Date());
    if (response.period === period) return true;
    if (this.renewal === null || response.places === null) return false;
    response.body = this.renewal.renew(response.body, response.places);
    response.period = period;
    response.compressed = {};
    return true;
  }

  get statistics(): CacheStatistics {
    const { hits, misses, responses } = this;
    return { hits, misses, entries: responses.size, bytes: responses.calculatedSize };
  }

  /** Whether a response is worth storing: the same request came before, for any revision. */
  admits(name: string): boolean {
    return !this.isOff && this.admissionFilter.admits(name);
  }

  /** Stores a response if it was read from the current revision, or if it contains nothing of the mirror. */
  store(response: CachedResponse, dependencies: ReadonlySet<CacheDependency>): void {
    const { name, revision, reads } = response;
    const { current } = this.revisions;
    if (this.isOff || (revision === null && dependencies.has('mirror'))) return;
    if (current === null || (revision ?? current.id) !== current.id) return;
    this.responses.set(name, response);
    // A response that is larger than the cache is not stored.
    if (this.responses.peek(name) === response) this.index.add(name, reads);
  }

  /** Keeps the compressed body of a cached response. `body` is what was compressed: it may have been renewed since. */
  keepCompressed(response: CachedResponse, body: Buffer, coding: Coding, bytes: Buffer): void {
    const { name } = response;
    if (this.responses.peek(name) !== response || response.body !== body) return;
    const compressed = { ...response.compressed, [coding]: bytes };
    // A new object, because only then the size is counted again. The index stays as it is.
    this.responses.set(name, { ...response, compressed }, { noDisposeOnSet: true });
  }

  /** Identifies requests that must have the same response now. Null if the current revision is not known. */
  flightKeyOf(
    key: ResponseCacheKey,
    dependencies: ReadonlySet<CacheDependency>,
    period: number,
  ): FlightKey | null {
    const { current } = this.revisions;
    if (this.isOff || current === null) return null;
    const depended = this.revisions.hides ? withSubject(dependencies) : dependencies;
    const isOfViewer = depended.has('subject');
    return { key: nameOf(key, depended), stamp: `${current.id} ${period}`, isOfViewer };
  }

  /** @param changes null: everything may have changed */
  private removeChanged(changes: readonly ChangedObjects[] | null): void {
    if (changes === null) this.responses.clear();
    else
      for (const changed of changes)
        for (const name of this.index.listChanged(changed)) this.responses.delete(name);
  }
}

/** The dependencies of a response that other viewers may not get. */
export function withSubject(dependencies: ReadonlySet<CacheDependency>): ReadonlySet<CacheDependency> {
  return dependencies.has('subject') ? dependencies : new Set([...dependencies, 'subject']);
}

/** The name of a response: equal requests whose callers get the same have the same name. */
export function nameOf(key: ResponseCacheKey, dependencies: ReadonlySet<CacheDependency>): string {
  return dependencies.has('subject') ? key.ownKey : key.sharedKey;
}

/** Identifies a request in the response cache by scopes, subject, method, media type and text. */
export class ResponseCacheKey {
  private shared: string | null = null;
  private own: string | null = null;

  /** `text` is the body as it was sent, or for a GET the request target. */
  constructor(
    readonly principal: Principal | null,
    private readonly method: string,
    private readonly contentType: string,
    private readonly text: string,
  ) {}

  /** The same for all principals with the same scopes. */
  get sharedKey(): string {
    this.shared ??= this.keyOf('');
    return this.shared;
  }

  /** The same for one subject with the same scopes. */
  get ownKey(): string {
    this.own ??= this.keyOf(this.principal === null ? '' : partsOf(this.principal).subject);
    return this.own;
  }

  private keyOf(subject: string): string {
    const scopes = this.principal === null ? '-' : partsOf(this.principal).scopes;
    return `${scopes}\n${subject}\n${this.method} ${this.contentType}\n${this.text}`;
  }
}

/** The key parts of each principal, cached because a principal sends many requests. */
const principals = new WeakMap<Principal, { scopes: string; subject: string }>();

function partsOf(principal: Principal): { scopes: string; subject: string } {
  let caller = principals.get(principal);
  if (caller === undefined) {
    // Quoted, because the issuer chooses the subject: it cannot be mistaken for another part.
    const { subject, limitedTo } = principal;
    const limit = limitedTo ? ` in ${limitedTo.join()}` : '';
    caller = { scopes: `${nameOfScopes(principal)}${limit}`, subject: `of ${JSON.stringify(subject)}` };
    principals.set(principal, caller);
  }
  return caller;
}

/** Number of slots, a power of two. They take 256 KiB and suit some ten thousand requests. */
const PLACES = 65_536;

/**
 * Recognizes repeated requests: caching responses of the others would cost more than it saves. It forgets old
 * entries and has rare false positives, so a response is cached one request too late or too early.
 */
export class CacheAdmissionFilter {
  private readonly seen = new Uint32Array(PLACES);

  /** Whether the same text was seen before. Records it otherwise. */
  admits(text: string): boolean {
    const hash = hashOf(text);
    const place = hash % PLACES;
    if (this.seen[place] === hash) return true;
    this.seen[place] = hash;
    return false;
  }
}

/** FNV-1a (Fowler, Noll, Vo), over UTF-16 code units. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  }
  // The lowest bits select the slot, so the highest bits are mixed into them.
  return (hash ^ (hash >>> 15)) >>> 0;
}
