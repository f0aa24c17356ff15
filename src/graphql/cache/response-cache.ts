import { Inject, Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import type { Exhibit } from '../../access-log/personal-data-access.js';
import type { CacheStatistics } from '../../common/cache-statistics.js';
import type { Config } from '../../config/config.js';
import { CONFIG } from '../../config/config.module.js';
import { Revisions } from '../../database/revisions/revisions.js';
import type { Dependence } from './cache-policy.decorator.js';
import { Doorkeeper } from './cache-admission-filter.js';
import type { FlightName } from './single-flight.js';
import type { Measure } from '../analysis/operation-cost.js';
import type { OperationLabel } from '../analysis/operation-label.js';
import type { Question } from './response-cache-key.js';

/** An answer as it went over the wire. */
export interface Answer {
  readonly body: Buffer;
  readonly contentType: string;
  /** Headers of its own; null: none. */
  readonly headers: Readonly<Record<string, string>> | null;
  /** It costs whoever asks again what it cost the first time. */
  readonly measure: Measure;
  /** The minute whose signed URLs are in it; null: it has none. */
  readonly minute: number | null;
  /** What it shows of people, to whoever is given it; null: nothing. */
  readonly exhibit: Exhibit | null;
  readonly operation: OperationLabel | null;
  /** The id of the revision that it was read from; null: nothing of it is in the directory. */
  readonly revision: string | null;
}

/**
 * Bytes of memory that an answer takes, as measured: where blocks are allocated some of each is lost, and every one has
 * objects of its own beside its text and its question's.
 */
function sizeOf({ body }: Answer, question: string): number {
  return Math.ceil(1.25 * body.length) + question.length + 600;
}

/** Signed URLs change at full minutes (docs/http.md). */
export function minuteOf(now: Date): number {
  return Math.ceil(now.getTime() / 60_000);
}

/**
 * Answers that are given again as they are, while the revision that they were read from is the one to be read
 * (docs/adr/0017). The data only changes with the revision, so none is ever stale.
 */
@Injectable()
export class Answers {
  private readonly kept: LRUCache<string, Answer>;
  /** The id of the revision that the answers are of. */
  private revision: string | null = null;
  private readonly doorkeeper = new Doorkeeper();
  private readonly isOff: boolean;
  private hits = 0;
  private misses = 0;

  constructor(
    @Inject(CONFIG) { limits }: Config,
    private readonly revisions: Revisions,
  ) {
    const maxSize = limits.answerCacheMegabytes * 1_000_000;
    this.isOff = maxSize === 0;
    this.kept = new LRUCache({
      maxSize: Math.max(1, maxSize),
      sizeCalculation: sizeOf,
    });
  }

  /** The answer that was given to the same question, if it still is the one to give. */
  find(question: Question): Answer | null {
    if (this.isOff || !this.isCurrent()) return null;
    const answer =
      this.kept.get(question.sharedKey) ??
      (question.principal === null ? undefined : this.kept.get(question.ownKey));
    if (answer === undefined || !(answer.minute === null || answer.minute === minuteOf(new Date()))) {
      this.misses++;
      return null;
    }
    this.hits++;
    return answer;
  }

  get statistics(): CacheStatistics {
    const { hits, misses, kept } = this;
    return { hits, misses, entries: kept.size, bytes: kept.calculatedSize };
  }

  /** Whether the answer is to be kept: the question has been asked before, of whichever revision. */
  isWorthKeeping(question: Question, dependences: ReadonlySet<Dependence>): boolean {
    return !this.isOff && this.doorkeeper.admits(keyFor(question, dependences));
  }

  /** @param revision the id of the revision that all of the answer was read from; null: none, and it is any one's */
  keep(
    question: Question,
    answer: Answer,
    dependences: ReadonlySet<Dependence>,
    revision: string | null,
  ): void {
    if (this.isOff || (revision === null && dependences.has('mirror'))) return;
    if (!this.isCurrent() || (revision ?? this.revision) !== this.revision) return;
    this.kept.set(keyFor(question, dependences), answer);
  }

  /**
   * What stands for a question that is asked now: of the same key, those with the same stamp are to have the same
   * answer. Null while that cannot be told.
   */
  nameOf(question: Question, dependences: ReadonlySet<Dependence>, minute: number): FlightName | null {
    const { current } = this.revisions;
    if (this.isOff || current === null) return null;
    return { key: keyFor(question, dependences), stamp: `${current.id} ${minute}` };
  }

  /** The revision of the mirror is one, and it is known; what is of another one is forgotten. */
  private isCurrent(): boolean {
    const current = this.revisions.current?.id ?? null;
    if (current !== this.revision) {
      this.kept.clear();
      this.revision = current;
    }
    return current !== null;
  }
}

function keyFor(question: Question, dependences: ReadonlySet<Dependence>): string {
  return dependences.has('subject') ? question.ownKey : question.sharedKey;
}
