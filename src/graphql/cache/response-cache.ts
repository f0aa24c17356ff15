import { Extensions } from '@nestjs/graphql';
import type { GraphQLFieldConfig, FormattedExecutionResult } from 'graphql';
import { Inject, Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { LRUCache } from 'lru-cache';
import type { PersonalDataAccess } from '../../access-log/personal-data.decorator.js';
import { grantedScopes } from '../../auth/principal.js';
import type { Config } from '../../config/config.js';
import { CONFIG } from '../../config/config.module.js';
import { Revisions } from '../../database/revisions.js';

/**
 * A dependency of a response besides the operation and the scopes of the token: the revision of the mirror, the subject of the token,
 * or the individual request.
 */
export type CacheDependency = 'mirror' | 'subject' | 'request';

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

/** The body of a response. That of a cached one is not written again, unless another plugin has added a member. */
export function bodyOf({ errors, data, extensions }: FormattedExecutionResult): string | Buffer {
  const known = data && !errors && !extensions ? bodies.get(data) : undefined;
  return known ?? JSON.stringify({ errors, data, extensions });
}

export interface CachedResponse {
  readonly data: Record<string, unknown>;
  readonly personalData: PersonalDataAccess | null;
  /** The id of the revision that it was read from; null if it contains nothing of the mirror. */
  readonly revision: string | null;
}

/** Bytes of an entry besides its name and its bodies, as measured. */
const ENTRY_BYTES = 600;

/** The responses of the current revision (docs/adr/0017). */
@Injectable()
export class ResponseCache {
  private readonly responses: LRUCache<string, CachedResponse>;
  private readonly isOff: boolean;
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

  find(request: FastifyRequest): CachedResponse | null {
    if (this.isOff || this.revisions.current === null) return null;
    const period = periodOfUrls(new Date());
    const response =
      this.responses.get(nameOf(request, false, period)) ?? this.responses.get(nameOf(request, true, period));
    if (response === undefined) this.misses++;
    else this.hits++;
    return response ?? null;
  }

  /** Stores a response if it was read from the current revision, or if it contains nothing of the mirror. */
  store(name: string, response: CachedResponse): void {
    const { current } = this.revisions;
    if (this.isOff || current === null || (response.revision ?? current.id) !== current.id) return;
    // With memory of its own, because a part of a common block would keep all of it.
    const body = Buffer.from(new TextEncoder().encode(JSON.stringify({ data: response.data })).buffer);
    bodies.set(response.data, body);
    const data = new CachedData(body) as unknown as CachedResponse['data'];
    // As measured, with the overhead of allocations.
    const size = Math.ceil(1.25 * body.length) + name.length + ENTRY_BYTES;
    this.responses.set(name, { ...response, data }, { size });
  }

  get statistics() {
    const { hits, misses, responses } = this;
    return { hits, misses, entries: responses.size, bytes: responses.calculatedSize };
  }
}

/** Equal requests of a period whose callers get the same have the same name: those of one subject, or all with the same scopes. */
export function nameOf(
  { principal, bodyText, url }: FastifyRequest,
  isOfSubject: boolean,
  period: number,
): string {
  const text = bodyText === null ? `url ${url}` : `body ${bodyText}`;
  if (principal === null) return `${period} -\n\n${text}`;
  const { subject, limitedTo } = principal;
  const limit = limitedTo ? ` in ${limitedTo.join()}` : '';
  // Quoted, because the issuer chooses the subject: it cannot be mistaken for another part.
  return `${period} ${grantedScopes(principal).join(' ')}${limit}\n${isOfSubject ? JSON.stringify(subject) : ''}\n${text}`;
}
