import type { NamedBy } from '../../config/model/mapping.js';
import { referenceKeyOf } from '../reference-key.js';

/** The largest number of distinct values whose text is kept, to find the cause of dangling references. */
const MOST_TEXTS = 20_000;

/** Where values are read from, as a key of the model. */
export interface ReferenceOrigin {
  readonly key: string;
  readonly by: NamedBy;
  /** The lists of the model that have what the values name. */
  readonly lists: readonly ('users' | 'groups')[];
}

/** A text that names no mirrored entry. */
interface Dangling {
  readonly text: string;
  readonly origin: ReferenceOrigin;
}

export interface NamedSummary {
  readonly total: number;
  readonly dangling: number;
  /** Some of the dangling values. */
  readonly examples: readonly Dangling[];
}

/** Counts the values of references by what they name. */
export class NamedValues {
  private readonly counts = new Map<string, number>();
  private readonly texts = new Map<string, Dangling>();

  /** Counts the values of one entry. What they name several times counts once. */
  add(values: Iterable<Dangling>): void {
    const keys = new Set<string>();
    for (const each of values) {
      // A text that can name no entry has a key of its own, with which no entry is found.
      const key = referenceKeyOf(each.origin.by, each.text) ?? `none:${each.text}`;
      keys.add(key);
      if (this.texts.size < MOST_TEXTS && !this.texts.has(key)) this.texts.set(key, each);
    }
    for (const key of keys) this.counts.set(key, (this.counts.get(key) ?? 0) + 1);
  }

  summarize(isMirrored: (key: string) => boolean): NamedSummary {
    let [total, dangling] = [0, 0];
    for (const [key, count] of this.counts) {
      total += count;
      if (!isMirrored(key)) dangling += count;
    }
    const examples = [...this.texts].filter(([key]) => !isMirrored(key)).map(([, each]) => each);
    return { total, dangling, examples };
  }
}

/** Whether so many references dangle that the model is probably wrong: more than a fifth. */
export function isMostlyWrong({ total, dangling }: Pick<NamedSummary, 'total' | 'dangling'>): boolean {
  return dangling * 5 > total;
}
