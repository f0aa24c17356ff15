import { hash } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import type { PersonalDataAccess } from '../../access-log/personal-data.decorator.js';
import { nameOfScopes } from '../../auth/access.js';
import type { Principal } from '../../auth/principal.js';
import type { CacheStatistics } from '../../common/cache-statistics.js';
import { readBuild } from '../../config/build.js';
import type { Config } from '../../config/config.js';
import { CONFIG } from '../../config/config.module.js';
import { Revisions } from '../../database/revisions/revisions.js';
import { Staleness } from '../../database/staleness.js';
import { seesEverything } from '../../database/visibility/viewer.js';
import { coversAny, matchesEtag } from '../../http/entity-tags.js';
import type { OperationCost } from '../analysis/operation-cost.js';
import type { OperationLabel } from '../analysis/operation.js';
import type { Coding } from '../http/compression.js';
import type { PipelineRequest, PipelineResponse } from '../http/pipeline-request.js';
import { type CacheDependency, periodOfUrls } from './cache-policy.decorator.js';

export interface CachedResponse {
  /** That of its key: see ResponseCacheKey. */
  readonly name: string;
  readonly body: Buffer;
  /** The body by coding, where a client has accepted it. */
  readonly compressed: Partial<Record<Coding, Buffer>>;
  readonly contentType: string;
  readonly headers: Readonly<Record<string, string>>;
  /** A cached response has the cost of the first one. */
  readonly cost: OperationCost;
  /** The period of its signed URLs; null if it has none. */
  readonly period: number | null;
  /** Null if no personal data is in it. */
  readonly personalData: PersonalDataAccess | null;
  readonly operation: OperationLabel | null;
  /** The id of the revision that it was read from; null if it contains nothing of the mirror. */
  readonly revision: string | null;
}

/** Bytes of an entry besides its name and its bodies, as measured. */
const ENTRY_BYTES = 600;

/** The responses of the current revision, and the executions of requests under way (docs/adr/0017). */
@Injectable()
export class ResponseCache {
  private readonly responses: LRUCache<string, CachedResponse>;
  private readonly underWay = new Map<string, { result: Promise<unknown> | null }>();
  private readonly isOff: boolean;
  private hits = 0;
  private misses = 0;

  constructor(
    @Inject(CONFIG) { limits }: Config,
    readonly revisions: Revisions,
  ) {
    const maxSize = limits.responseCacheMegabytes * 1_000_000;
    this.isOff = maxSize === 0;
    this.responses = new LRUCache({ maxSize: Math.max(1, maxSize), sizeCalculation: bytesOf });
    revisions.onChanged(() => {
      this.responses.clear();
    });
  }

  /** Null if there is no response for the current revision and period. */
  find(key: ResponseCacheKey): CachedResponse | null {
    if (this.isOff || this.revisions.current === null) return null;
    const response = this.responses.get(key.nameFor(false)) ?? this.responses.get(key.nameFor(true));
    if (response === undefined || !isOfThisPeriod(response)) {
      this.misses++;
      return null;
    }
    this.hits++;
    return response;
  }

  /** Stores a response if it was read from the current revision, or if it contains nothing of the mirror. */
  store(response: CachedResponse): void {
    const { current } = this.revisions;
    if (this.isOff || current === null || (response.revision ?? current.id) !== current.id) return;
    this.responses.set(response.name, response);
  }

  /** Keeps the compressed body of a cached response. */
  keepCompressed(response: CachedResponse, coding: Coding, bytes: Buffer): void {
    if (this.responses.peek(response.name) !== response) return;
    const compressed = { ...response.compressed, [coding]: bytes };
    // A new object, because only then the size is counted again.
    this.responses.set(response.name, { ...response, compressed });
  }

  /**
   * Executes an operation, or takes the result of an equal request under way.
   * @param dependencies those of the operation; null: every request is executed
   */
  async share<Result extends { readonly isPersonal: boolean }>(
    key: ResponseCacheKey | null,
    dependencies: ReadonlySet<CacheDependency> | null,
    execute: () => Promise<Result>,
  ): Promise<{ readonly result: Result; readonly isOwn: boolean }> {
    const { current, hides } = this.revisions;
    if (this.isOff || current === null || key === null || dependencies === null)
      return { result: await execute(), isOwn: true };
    const isOfSubject = hides || dependencies.has('subject');
    const name = `${current.id} ${periodOfUrls(new Date())} ${key.nameFor(isOfSubject)}`;
    const other = this.underWay.get(name)?.result as Promise<Result> | null | undefined;
    if (other) {
      const result = await other;
      // If the revision has begun to hide something, the result of another viewer is not for this one.
      return isOfSubject || !result.isPersonal
        ? { result, isOwn: false }
        : { result: await execute(), isOwn: true };
    }
    const own = execute();
    const flight: { result: typeof own | null } = { result: own };
    this.underWay.set(name, flight);
    try {
      return { result: await own, isOwn: true };
    } finally {
      // V8 keeps the old table of a map that has grown, with everything in it, until the next full garbage collection.
      flight.result = null;
      this.underWay.delete(name);
    }
  }

  get statistics(): CacheStatistics {
    const { hits, misses, responses } = this;
    return { hits, misses, entries: responses.size, bytes: responses.calculatedSize };
  }
}

function isOfThisPeriod({ period }: CachedResponse): boolean {
  return period === null || period === periodOfUrls(new Date());
}

/** The measured memory of an entry in bytes, with the overhead of allocations. */
function bytesOf({ name, body, compressed }: CachedResponse): number {
  const bytes = body.length + (compressed.br?.length ?? 0) + (compressed.gzip?.length ?? 0);
  return Math.ceil(1.25 * bytes) + name.length + ENTRY_BYTES;
}

/** Identifies a request in the response cache by scopes, subject, method, media type and text. */
export class ResponseCacheKey {
  private shared: string | null = null;
  private own: string | null = null;

  /** `text` is the body as it was sent, or for a GET the request target. */
  constructor(
    private readonly principal: Principal | null,
    private readonly method: string,
    private readonly contentType: string,
    private readonly text: string,
  ) {}

  /** Equal requests whose callers get the same have the same name: those of one subject, or all with the same scopes. */
  nameFor(isOfSubject: boolean): string {
    const { principal } = this;
    if (!isOfSubject || principal === null) return (this.shared ??= this.nameOf(''));
    return (this.own ??= this.nameOf(partsOf(principal).subject));
  }

  private nameOf(subject: string): string {
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

/** Everything that determines a response: equal values have equal responses. */
type Representation = Pick<CachedResponse, 'name' | 'period'> & { readonly revision: string };

/** Characters of an entity tag, of six bits each. */
const TAG_LENGTH = 22;
/** For caches of one client only, which ask before each use. A shared cache that ignores it must distinguish callers. */
const REVALIDATED = {
  'cache-control': 'private, no-cache',
  vary: 'Accept, Accept-Encoding, Authorization, Origin',
};

/**
 * Conditional requests by GET (RFC 9110 §13.1.2, docs/adr/0048). An entity tag names a revision, the audience and the request, so
 * it can be compared before the operation is executed.
 */
@Injectable()
export class ConditionalResponses {
  /** The hash of what else decides about responses: the release, and the settings of URLs, fields and documents. */
  private readonly service: string;

  constructor(
    @Inject(CONFIG) { baseUrl, model, directory, trustedDocuments }: Config,
    private readonly revisions: Revisions,
    private readonly staleness: Staleness,
  ) {
    const { version, commit } = readBuild();
    // The name of a request by documentId has the id of the document, and not its text.
    const documents = [...(trustedDocuments?.documents ?? [])];
    const parts = [version, commit, baseUrl, directory.server, model, documents];
    this.service = hash('sha256', JSON.stringify(parts));
  }

  /**
   * The response with its entity tag, or 304 if the client has it. Those of POST have none (RFC 9110 §9.3.3), and those that
   * contain nothing of the mirror: their revision is null.
   */
  tag(
    request: PipelineRequest,
    response: PipelineResponse,
    { name, period, revision }: Pick<CachedResponse, 'name' | 'period' | 'revision'>,
  ): PipelineResponse {
    if (revision === null || request.method === 'POST') return response;
    const representation = { name, period, revision };
    const headers = { ...response.headers, ...REVALIDATED, etag: `W/${this.tagOf(representation)}` };
    return this.unchanged(request, representation) ?? { ...response, headers };
  }

  /** 304 without an execution, if the client has the response; otherwise undefined. The operation was charged before. */
  respond(request: PipelineRequest): undefined | Promise<PipelineResponse> {
    const known = request.headers['if-none-match'];
    // Only the execution shows whether there is a response for any tag, and what its tag is.
    if (request.method === 'POST' || known === undefined || coversAny(known)) return undefined;
    const revision = this.revisions.current?.id;
    if (revision === undefined) return undefined;
    for (const each of this.possible(request)) {
      const unchanged = this.unchanged(request, { ...each, revision });
      if (unchanged !== null) return this.describe(request, revision, unchanged);
    }
    return undefined;
  }

  /** What the response of the current revision can be: only the execution shows whether the subject matters. */
  private possible({
    validated,
    cacheKey,
    context,
  }: PipelineRequest): Pick<CachedResponse, 'name' | 'period'>[] {
    const dependencies = validated?.cacheDependencies ?? null;
    if (dependencies?.has('mirror') !== true || cacheKey === null || context === null) return [];
    const period = dependencies.has('period') ? periodOfUrls(new Date()) : null;
    // If the revision may hide something from the viewer, only the tag with the subject was sent.
    const isOwn = dependencies.has('subject') || (this.revisions.hides && !seesEverything(context.viewer));
    return (isOwn ? [true] : [false, true]).map((each) => ({ name: cacheKey.nameFor(each), period }));
  }

  private unchanged(
    { headers, responseType }: PipelineRequest,
    representation: Representation,
  ): PipelineResponse | null {
    const known = headers['if-none-match'];
    if (known === undefined) return null;
    const tag = this.tagOf(representation);
    if (!matchesEtag(known, tag)) return null;
    return { status: 304, type: responseType ?? '', headers: { ...REVALIDATED, etag: `W/${tag}` }, body: '' };
  }

  private async describe(
    request: PipelineRequest,
    revision: string,
    response: PipelineResponse,
  ): Promise<PipelineResponse> {
    request.mirrorRead = await this.staleness.describe(revision, this.staleness.asOf);
    return response;
  }

  private tagOf({ name, period, revision }: Representation): string {
    const text = `${this.service}\n${revision}\n${period}\n${name}`;
    return `"${hash('sha256', text, 'base64url').slice(0, TAG_LENGTH)}"`;
  }
}
