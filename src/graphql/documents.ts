import { Injectable } from '@nestjs/common';
import type { DocumentNode, GraphQLSchema } from 'graphql';
import { LRUCache } from 'lru-cache';

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

  find(text: string): ValidDocument | null {
    const frequent = this.frequent.get(text);
    if (frequent !== undefined) return frequent;
    const recent = this.recent.get(text);
    if (recent === undefined) return null;
    this.recent.delete(text);
    this.frequent.set(text, recent);
    return recent;
  }

  keep(text: string, document: ValidDocument): void {
    this.recent.set(text, document);
  }
}

function cacheOf(maxSize: number): LRUCache<string, ValidDocument> {
  return new LRUCache({
    maxSize,
    sizeCalculation: (_document, text) => BYTES_PER_CHARACTER * Math.max(1, text.length),
  });
}
