import type { ApolloServerOptions, BaseContext } from '@apollo/server';
import { Injectable } from '@nestjs/common';
import type { DocumentNode } from 'graphql';
import { LRUCache } from 'lru-cache';
import type { CacheStatistics } from '../../common/cache-statistics.js';

/** Measured memory of a parsed document, in bytes per character. */
const BYTES_PER_CHARACTER = 100;
/** Maximum bytes of documents that were sent more than once, and of those that were sent once. */
const FREQUENT = 30_000_000;
const RECENT = 10_000_000;

type DocumentStore = NonNullable<ApolloServerOptions<BaseContext>['documentStore']>;

/** Apollo's store of valid documents. One that is sent again moves to a cache from which new ones cannot evict it. */
@Injectable()
export class Documents implements DocumentStore {
  private readonly frequent = cacheOf(FREQUENT);
  private readonly recent = cacheOf(RECENT);
  private hits = 0;
  private misses = 0;

  get(key: string): Promise<DocumentNode | undefined> {
    const known = this.frequent.get(key) ?? this.findRecent(key);
    if (known === undefined) this.misses++;
    else this.hits++;
    return Promise.resolve(known);
  }

  set(key: string, document: DocumentNode): Promise<void> {
    this.recent.set(key, document);
    return Promise.resolve();
  }

  delete(key: string): Promise<boolean> {
    return Promise.resolve(this.recent.delete(key) || this.frequent.delete(key));
  }

  get statistics(): CacheStatistics {
    const { hits, misses, frequent, recent } = this;
    const bytes = frequent.calculatedSize + recent.calculatedSize;
    return { hits, misses, entries: frequent.size + recent.size, bytes };
  }

  /** Moves a recent document that is sent again to the frequent ones. */
  private findRecent(key: string): DocumentNode | undefined {
    const recent = this.recent.get(key);
    if (recent === undefined) return undefined;
    this.recent.delete(key);
    this.frequent.set(key, recent);
    return recent;
  }
}

function cacheOf(maxSize: number): LRUCache<string, DocumentNode> {
  return new LRUCache({
    maxSize,
    sizeCalculation: ({ loc }) => BYTES_PER_CHARACTER * Math.max(1, loc?.end ?? 0),
  });
}
