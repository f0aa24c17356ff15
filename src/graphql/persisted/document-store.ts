import { hash } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { Limit, Limits, SHARED_COUNTS } from '../../limits/limits.js';
import type { SharedCounts } from '../../limits/shared-counts.js';

/** Bytes of all documents of a process. */
const MAX_BYTES = 20_000_000;
/** Bytes of new documents of one principal in a day, so that no principal displaces the documents of all others. */
const MAX_BYTES_PER_PRINCIPAL = 2_000_000;
const DAY_SECONDS = 86_400;
/** Bytes of a document besides its text, at two bytes a character. It also limits their number. */
const OVERHEAD_BYTES = 300;

const bytesOf = (text: string) => 2 * text.length + OVERHEAD_BYTES;

export function sha256Of(text: string): string {
  return hash('sha256', text);
}

/** Automatic persisted queries by SHA-256: in the memory of the process, and for a day in Redis, if there is one. */
@Injectable()
export class DocumentStore {
  private readonly texts = new LRUCache<string, string>({ maxSize: MAX_BYTES, sizeCalculation: bytesOf });
  private readonly limit = new Limit('documents', MAX_BYTES_PER_PRINCIPAL, DAY_SECONDS);

  constructor(
    private readonly limits: Limits,
    @Inject(SHARED_COUNTS) private readonly shared: SharedCounts | null,
  ) {}

  /** The text; null if it is unknown. It is synchronous if this process knows it. */
  find(sha256: string): string | null | Promise<string | null> {
    const text = this.texts.get(sha256) ?? null;
    return text !== null || this.shared === null ? text : this.findShared(sha256, this.shared);
  }

  /** Keeps the text, unless the principal has registered too much today. A text that this process knows costs nothing. */
  async keep(sha256: string, text: string, principal: string): Promise<void> {
    if (this.texts.get(sha256) !== text) {
      const { isTaken } = await this.limits.takeOne(this.limit, principal, bytesOf(text));
      if (!isTaken) return;
      this.texts.set(sha256, text);
    }
    // Also if this process knows it: another process has not found it in Redis, where its day has ended.
    await this.shared?.keepText(keyOf(sha256), text, DAY_SECONDS);
  }

  private async findShared(sha256: string, shared: SharedCounts): Promise<string | null> {
    const text = await shared.findText(keyOf(sha256));
    // Others may write to Redis.
    if (text === null || sha256Of(text) !== sha256) return null;
    this.texts.set(sha256, text);
    return text;
  }
}

function keyOf(sha256: string): string {
  return `document:${sha256}`;
}
