import type { Exhibit } from './personal-data-access.js';
import { type Onlooker, OTHERS } from './audit-actor.js';

/** A row of the access log, or what is to be added to one. */
export interface Count extends Onlooker {
  /** In UTC, such as 2030-01-15. */
  readonly day: string;
  readonly field: string;
  requests: number;
  people: number;
}

/** What has been counted and is not written yet. It has a bound: nothing is lost beyond it, but who it was. */
export class Counts {
  private rows = new Map<string, Count>();

  constructor(private readonly most: number) {}

  get size(): number {
    return this.rows.size;
  }

  /** @param shown how often each exhibit was shown to them; summed up by field first, since to find a row costs most */
  add(day: string, onlooker: Onlooker, shown: ReadonlyMap<Exhibit, number>): void {
    const sums = new Map<string, { requests: number; people: number }>();
    for (const [{ fields, people }, times] of shown) {
      for (const [index, field] of fields.entries()) addTo(sums, field, times, people[index] ?? 0);
    }
    for (const [field, sum] of sums) this.addCount({ day, ...onlooker, field, ...sum });
  }

  addCount(count: Count): void {
    const key = keyOf(count);
    const row = this.rows.get(key);
    if (row !== undefined) {
      row.requests += count.requests;
      row.people += count.people;
    } else if (this.rows.size < this.most || count.principal === OTHERS.principal) {
      this.rows.set(key, count);
    } else {
      this.addCount({ ...count, ...OTHERS });
    }
  }

  /** Takes out some of them, the oldest first. */
  take(most: number): Count[] {
    const taken: Count[] = [];
    for (const [key, row] of this.rows) {
      if (taken.length === most) break;
      taken.push(row);
      this.rows.delete(key);
    }
    return taken;
  }
}

function addTo(
  sums: Map<string, { requests: number; people: number }>,
  field: string,
  times: number,
  people: number,
): void {
  if (people === 0) return;
  const sum = sums.get(field);
  if (sum === undefined) {
    sums.set(field, { requests: times, people: times * people });
    return;
  }
  sum.requests += times;
  sum.people += times * people;
}

/** Ids are whatever an issuer gives out: as JSON, no two rows share a key. */
function keyOf({ day, principal, actingFor, field }: Count): string {
  return JSON.stringify([day, principal, actingFor, field]);
}
