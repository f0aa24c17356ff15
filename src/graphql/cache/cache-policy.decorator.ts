import { Extensions } from '@nestjs/graphql';
import type { GraphQLFieldConfig } from 'graphql';

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
