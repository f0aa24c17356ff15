import type { ApolloServerOptions } from '@apollo/server';
import type { DocumentNode } from 'graphql';
import { LRUCache } from 'lru-cache';

/** Bytes that a parsed document takes for each of its characters, as measured. */
const BYTES_PER_CHARACTER = 100;
/** Bytes of documents that have come more than once, and of those that have come once. */
const FREQUENT = 30_000_000;
const RECENT = 10_000_000;

/**
 * Documents that have been parsed and found valid, where Apollo looks for them. One that comes again moves to where
 * those that come only once do not displace it: a flood of ever new ones leaves the good ones alone.
 */
export class Documents implements NonNullable<ApolloServerOptions<object>['documentStore']> {
  private readonly frequent = cacheOf(FREQUENT);
  private readonly recent = cacheOf(RECENT);

  get(key: string): Promise<DocumentNode | undefined> {
    let document = this.frequent.get(key);
    if (document === undefined) {
      document = this.recent.get(key);
      if (document !== undefined) {
        this.recent.delete(key);
        this.frequent.set(key, document);
      }
    }
    return Promise.resolve(document);
  }

  set(key: string, document: DocumentNode): Promise<void> {
    this.recent.set(key, document);
    return Promise.resolve();
  }

  delete(key: string): Promise<boolean> {
    const wasRecent = this.recent.delete(key);
    return Promise.resolve(this.frequent.delete(key) || wasRecent);
  }
}

function cacheOf(maxSize: number): LRUCache<string, DocumentNode> {
  return new LRUCache({
    maxSize,
    sizeCalculation: ({ loc }) => BYTES_PER_CHARACTER * Math.max(1, loc?.end ?? 1),
  });
}
