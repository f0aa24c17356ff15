import type { Exhibit } from './exhibit.js';
import { type Onlooker, OTHERS } from './onlooker.js';

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

  /** @param times how often the exhibit was shown */
  add(day: string, onlooker: Onlooker, { fields, people }: Exhibit, times: number): void {
    for (const [index, field] of fields.entries()) {
      const shown = people[index] ?? 0;
      if (shown > 0) this.addCount({ day, ...onlooker, field, requests: times, people: times * shown });
    }
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

/** Ids are whatever an issuer gives out: as JSON, no two rows share a key. */
function keyOf({ day, principal, actingFor, field }: Count): string {
  return JSON.stringify([day, principal, actingFor, field]);
}
