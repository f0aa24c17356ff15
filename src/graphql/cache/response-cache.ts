import { Extensions } from '@nestjs/graphql';
import type { GraphQLFieldConfig, FormattedExecutionResult } from 'graphql';
import { Inject, Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { LRUCache } from 'lru-cache';
import type { PersonalDataAccess } from '../../access-log/personal-data.decorator.js';
import { nameOfScopes } from '../../auth/access.js';
import type { Config } from '../../config/config.js';
import { CONFIG } from '../../config/config.module.js';
import { Revisions } from '../../database/revisions.js';

/**
 * A dependency of a response besides the operation and the scopes of the token: the revision of the mirror,
 * the subject of the token, the period of signed URLs, or the individual request.
 */
export type CacheDependency = 'mirror' | 'subject' | 'period' | 'request';

/**
 * Declares the cache dependencies of a field. A response is cached if every root field declares some and none is
 * the request. Without a declaration, a root field is executed each time and reads the mirror, and a nested field adds no dependency:
 * its value is cached with that of its root field.
 */
export function CachePolicy(...cacheDependencies: CacheDependency[]): MethodDecorator {
  return Extensions({ dependsOn: cacheDependencies });
}

/** Returns the field with the declaration that its value may differ with each request. */
export function uncached<Field extends GraphQLFieldConfig<unknown, unknown>>(field: Field): Field {
  const declared = (field.extensions?.['dependsOn'] as readonly CacheDependency[] | undefined) ?? ['mirror'];
  return { ...field, extensions: { ...field.extensions, dependsOn: [...declared, 'request'] } };
}

/** Signed URLs change with the quarter of an hour: browsers keep a photo meanwhile, and a cached response is valid for its quarter. */
export const URL_PERIOD_MS = 900_000;

export function periodOfUrls(now: Date): number {
  return Math.ceil(now.getTime() / URL_PERIOD_MS);
}

const encoder = new TextEncoder();

/** The bodies of responses that are cached or shared, by their data. */
const bodies = new WeakMap<object, Buffer>();

/** The data of cached responses. Plugins read them as JSON. */
class CachedData {
  constructor(body: Buffer) {
    bodies.set(this, body);
  }

  toJSON(): unknown {
    return (JSON.parse(String(bodies.get(this))) as FormattedExecutionResult).data;
  }
}

/** The body of a response with these data and nothing else, written once for all requests that share them. */
export function sharedBodyOf(data: object): Buffer {
  let body = bodies.get(data);
  // With memory of its own, because a part of a common block would keep all of it.
  if (body === undefined)
    bodies.set(data, (body = Buffer.from(encoder.encode(JSON.stringify({ data })).buffer)));
  return body;
}

/** The body of a response. That of a cached one is not written again, unless another plugin has added a member. */
export function bodyOf({ errors, data, extensions }: FormattedExecutionResult): string | Buffer {
  const known = data && !errors && !extensions ? bodies.get(data) : undefined;
  return known ?? JSON.stringify({ errors, data, extensions });
}

export interface CachedResponse {
  /** See nameOf. */
  readonly name: string;
  readonly data: Record<string, unknown>;
  /** The period of its signed URLs; null if it has none. */
  readonly period: number | null;
  /** Null if no personal data is in it. */
  readonly personalData: PersonalDataAccess | null;
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
  readonly isOff: boolean;
  private hits = 0;
  private misses = 0;

  constructor(
    @Inject(CONFIG) { limits }: Config,
    readonly revisions: Revisions,
  ) {
    const maxSize = limits.responseCacheMegabytes * 1_000_000;
    this.isOff = maxSize === 0;
    this.responses = new LRUCache({ maxSize: Math.max(1, maxSize) });
    revisions.onChanged(() => {
      this.responses.clear();
    });
  }

  /** Null if there is no response for the current revision and period. */
  find(request: FastifyRequest): CachedResponse | null {
    if (this.isOff || this.revisions.current === null) return null;
    const response = this.responses.get(nameOf(request, false)) ?? this.responses.get(nameOf(request, true));
    if (response === undefined || !isOfThisPeriod(response)) {
      this.misses++;
      return null;
    }
    this.hits++;
    return response;
  }

  /** Stores a response if it was read from the current revision, or if it contains nothing of the mirror. */
  store(response: Omit<CachedResponse, 'data'>, body: Buffer): void {
    const { current } = this.revisions;
    if (this.isOff || current === null || (response.revision ?? current.id) !== current.id) return;
    const data = new CachedData(body) as unknown as CachedResponse['data'];
    this.responses.set(response.name, { ...response, data }, { size: sizeOf(response.name, body) });
  }

  /**
   * Executes an operation, or takes the result of an equal request under way.
   * @param dependencies those of the operation; null: every request is executed
   */
  async share<Result extends { readonly isPersonal: boolean }>(
    request: FastifyRequest,
    dependencies: ReadonlySet<CacheDependency> | null,
    execute: () => Promise<Result>,
  ): Promise<{ readonly result: Result; readonly isOwn: boolean }> {
    const { current, hides } = this.revisions;
    if (this.isOff || current === null || dependencies === null)
      return { result: await execute(), isOwn: true };
    const isOfSubject = hides || dependencies.has('subject');
    const name = `${current.id} ${periodOfUrls(new Date())} ${nameOf(request, isOfSubject)}`;
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

  get statistics() {
    const { hits, misses, responses } = this;
    return { hits, misses, entries: responses.size, bytes: responses.calculatedSize };
  }
}

function isOfThisPeriod({ period }: CachedResponse): boolean {
  return period === null || period === periodOfUrls(new Date());
}

/** The measured memory of an entry in bytes, with the overhead of allocations. */
function sizeOf(name: string, body: Buffer): number {
  return Math.ceil(1.25 * body.length) + name.length + ENTRY_BYTES;
}

/** Equal requests whose callers get the same have the same name: those of one subject, or all with the same scopes. */
export function nameOf({ principal, bodyText, url }: FastifyRequest, isOfSubject: boolean): string {
  const text = bodyText === null ? `url ${url}` : `body ${bodyText}`;
  if (principal === null) return `-\n\n${text}`;
  const { subject, limitedTo } = principal;
  const limit = limitedTo ? ` in ${limitedTo.join()}` : '';
  // Quoted, because the issuer chooses the subject: it cannot be mistaken for another part.
  return `${nameOfScopes(principal)}${limit}\n${isOfSubject ? JSON.stringify(subject) : ''}\n${text}`;
}
