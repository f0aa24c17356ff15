import { Inject, Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import type { PersonalDataAccess } from '../../access-log/personal-data.decorator.js';
import type { CacheStatistics } from '../../common/cache-statistics.js';
import type { Config } from '../../config/config.js';
import { CONFIG } from '../../config/config.module.js';
import { Revisions } from '../../database/revisions/revisions.js';
import type { CacheDependency } from './cache-policy.decorator.js';
import type { OperationCost } from '../analysis/operation-cost.js';
import type { OperationLabel } from '../analysis/operation.js';
import { type Principal } from '../../auth/principal.js';
import { nameOfScopes } from '../../auth/access.js';

export interface FlightKey {
  readonly key: string;
  /** Everything else on which the result depends, and that can change while the key stays the same. */
  readonly stamp: string;
  /** Whether all requests with this key have the same viewer. */
  readonly isOfViewer: boolean;
}

interface Flight {
  readonly stamp: string;
  /** Null after the execution has ended. */
  result: Promise<unknown> | null;
}

/** Coalesces requests: those that arrive during an identical execution wait for its result. */
@Injectable()
export class SingleFlight {
  private readonly underWay = new Map<string, Flight>();

  /** Runs `work`, or waits for the result of the same flight. Null: no other request may share it. */
  async run<Result>(
    flight: FlightKey | null,
    work: () => Promise<Result>,
  ): Promise<{ result: Result; isOwn: boolean }> {
    if (flight === null) return { result: await work(), isOwn: true };
    const { key, stamp } = flight;
    const known = this.underWay.get(key) as (Flight & { result: Promise<Result> | null }) | undefined;
    if (known !== undefined && known.stamp === stamp && known.result !== null) {
      return { result: await known.result, isOwn: false };
    }
    const result = work();
    const own: Flight = { stamp, result };
    this.underWay.set(key, own);
    try {
      return { result: await result, isOwn: true };
    } finally {
      // V8 keeps the old table of a map that has grown, with everything in it, until the next full garbage
      // collection.
      own.result = null;
      if (this.underWay.get(key) === own) this.underWay.delete(key);
    }
  }
}

export interface CachedResponse {
  readonly body: Buffer;
  readonly contentType: string;
  readonly headers: Readonly<Record<string, string>>;
  /** A cached response has the cost of the first one. */
  readonly cost: OperationCost;
  /** The minute of its signed URLs; null if it has none. */
  readonly minute: number | null;
  /** Null if no personal data is in it. */
  readonly personalData: PersonalDataAccess | null;
  readonly operation: OperationLabel | null;
  /** The id of the revision that it was read from; null if it contains nothing of the mirror. */
  readonly revision: string | null;
}

/** The measured memory of an entry in bytes, with the overhead of allocations. */
function bytesOf({ body }: CachedResponse, key: string): number {
  return Math.ceil(1.25 * body.length) + key.length + 600;
}

/** Returns the minute of signed URLs, which change at full minutes (docs/http.md). */
export function minuteOf(now: Date): number {
  return Math.ceil(now.getTime() / 60_000);
}

/** Responses of the current revision (docs/adr/0017), so that a cached response is never outdated. */
@Injectable()
export class ResponseCache {
  private readonly responses: LRUCache<string, CachedResponse>;
  /** The id of the revision from which the responses were read. */
  private revision: string | null = null;
  private readonly admissionFilter = new CacheAdmissionFilter();
  private readonly isOff: boolean;
  private hits = 0;
  private misses = 0;

  constructor(
    @Inject(CONFIG) { limits }: Config,
    private readonly revisions: Revisions,
  ) {
    const maxSize = limits.answerCacheMegabytes * 1_000_000;
    this.isOff = maxSize === 0;
    this.responses = new LRUCache({ maxSize: Math.max(1, maxSize), sizeCalculation: bytesOf });
  }

  /** Null if there is no response of the current revision and minute. */
  find(key: ResponseCacheKey): CachedResponse | null {
    if (this.isOff || !this.isCurrent()) return null;
    const response =
      this.responses.get(key.sharedKey) ??
      (key.principal === null ? undefined : this.responses.get(key.ownKey));
    if (response === undefined || !(response.minute === null || response.minute === minuteOf(new Date()))) {
      this.misses++;
      return null;
    }
    this.hits++;
    return response;
  }

  get statistics(): CacheStatistics {
    const { hits, misses, responses } = this;
    return { hits, misses, entries: responses.size, bytes: responses.calculatedSize };
  }

  /** Whether a response is worth storing: the same request came before, for any revision. */
  admits(key: ResponseCacheKey, dependencies: ReadonlySet<CacheDependency>): boolean {
    return !this.isOff && this.admissionFilter.admits(textOf(key, dependencies));
  }

  /** Stores a response if it was read from the current revision, or if it contains nothing of the mirror. */
  store(key: ResponseCacheKey, response: CachedResponse, dependencies: ReadonlySet<CacheDependency>): void {
    const { revision } = response;
    if (this.isOff || (revision === null && dependencies.has('mirror'))) return;
    if (!this.isCurrent() || (revision ?? this.revision) !== this.revision) return;
    this.responses.set(textOf(key, dependencies), response);
  }

  /** Identifies requests that must have the same response now. Null if the current revision is not known. */
  flightKeyOf(
    key: ResponseCacheKey,
    dependencies: ReadonlySet<CacheDependency>,
    minute: number,
  ): FlightKey | null {
    const { current } = this.revisions;
    if (this.isOff || current === null) return null;
    const depended = this.revisions.hides ? withSubject(dependencies) : dependencies;
    const isOfViewer = depended.has('subject');
    return { key: textOf(key, depended), stamp: `${current.id} ${minute}`, isOfViewer };
  }

  /** Whether the revision of the mirror is known. Clears the cache if it has changed. */
  private isCurrent(): boolean {
    const current = this.revisions.current?.id ?? null;
    if (current !== this.revision) {
      this.responses.clear();
      this.revision = current;
    }
    return current !== null;
  }
}

/** The dependencies of a response that other viewers may not get. */
export function withSubject(dependencies: ReadonlySet<CacheDependency>): ReadonlySet<CacheDependency> {
  return dependencies.has('subject') ? dependencies : new Set([...dependencies, 'subject']);
}

function textOf(key: ResponseCacheKey, dependencies: ReadonlySet<CacheDependency>): string {
  return dependencies.has('subject') ? key.ownKey : key.sharedKey;
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
  admits(question: string): boolean {
    const hash = hashOf(question);
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

/** Identifies a request in the response cache by scopes, subject, media type and text. */
export class ResponseCacheKey {
  private shared: string | null = null;
  private own: string | null = null;

  /** `text` is the body as it was sent, or for a GET the request target. */
  constructor(
    readonly principal: Principal | null,
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
    return `${scopes}\n${subject}\n${this.contentType}\n${this.text}`;
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
