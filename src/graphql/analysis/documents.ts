import { Injectable } from '@nestjs/common';
import type { DocumentNode, GraphQLSchema } from 'graphql';
import { LRUCache } from 'lru-cache';
import type { CacheStatistics } from '../../common/cache-statistics.js';

/** A document that has been parsed and found valid. */
export interface ValidDocument {
  readonly document: DocumentNode;
  /** What it is valid for. */
  readonly schema: GraphQLSchema;
}

/** Bytes that a parsed document takes for each of its characters, as measured. */
const BYTES_PER_CHARACTER = 100;
/** Bytes of documents that have come more than once, and of those that have come once. */
const FREQUENT = 30_000_000;
const RECENT = 10_000_000;

/**
 * Documents that are known to be valid, by their text. One that comes again moves to where those that come only once do
 * not displace it: a flood of ever new ones leaves the good ones alone.
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

  /** One that comes again. */
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
