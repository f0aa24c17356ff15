import { Injectable } from '@nestjs/common';
import type { DocumentNode, GraphQLSchema } from 'graphql';
import { LRUCache } from 'lru-cache';
import type { CacheStatistics } from '../../common/cache-statistics.js';

/** A document that was parsed and validated. */
export interface ValidDocument {
  readonly document: DocumentNode;
  /** The schema for which it is valid. */
  readonly schema: GraphQLSchema;
}

/** Measured memory of a parsed document, in bytes per character. */
const BYTES_PER_CHARACTER = 100;
/** Maximum bytes of documents that were sent more than once, and of those that were sent once. */
const FREQUENT = 30_000_000;
const RECENT = 10_000_000;

/**
 * Valid documents by their text. A document that is sent again moves to a cache from which new documents
 * cannot displace it. Many distinct documents therefore do not evict the frequent ones.
 */
@Injectable()
export class Documents {
  private readonly frequent = cacheOf(FREQUENT);
  private readonly recent = cacheOf(RECENT);
  private hits = 0;
  private misses = 0;

  find(text: string): ValidDocument | null {
    const known = this.frequent.get(text) ?? this.recall(text);
    if (known === null) this.misses++;
    else this.hits++;
    return known;
  }

  keep(text: string, document: ValidDocument): void {
    this.recent.set(text, document);
  }

  get statistics(): CacheStatistics {
    const { hits, misses, frequent, recent } = this;
    const bytes = frequent.calculatedSize + recent.calculatedSize;
    return { hits, misses, entries: frequent.size + recent.size, bytes };
  }

  /** Moves a recent document that is sent again to the frequent ones. */
  private recall(text: string): ValidDocument | null {
    const recent = this.recent.get(text);
    if (recent === undefined) return null;
    this.recent.delete(text);
    this.frequent.set(text, recent);
    return recent;
  }
}

function cacheOf(maxSize: number): LRUCache<string, ValidDocument> {
  return new LRUCache({
    maxSize,
    sizeCalculation: (_document, text) => BYTES_PER_CHARACTER * Math.max(1, text.length),
  });
}
