import { LRUCache } from 'lru-cache';
import type { Grant, GrantRequest, UnusedGrant } from './granted-counts.js';
import type { Limit, LimitResult, Taking } from './limits.js';

/** What this process may still take without asking. */
interface Held {
  unused: number;
  /** What all processes have taken, as far as it is known here, without `unused`. */
  taken: number;
  readonly until: number;
}

const MAX_SUBJECTS = 100_000;

/** The counts of several workers of one service, as one of them takes from them: see GrantedCounts. */
export class WorkerCounts {
  private readonly held = new LRUCache<string, Held>({ max: MAX_SUBJECTS });

  /** @param ask sends the request to the process that counts; null if it does not reply */
  constructor(
    private readonly ask: (request: GrantRequest) => Promise<Grant | null>,
    private readonly clock: () => number = () => performance.now(),
  ) {}

  /** Takes one after another, up to the first that does not fit. Returns no promise if it need not ask. */
  take(takings: readonly Taking[]): readonly LimitResult[] | Promise<readonly LimitResult[]> {
    const [first] = takings;
    const own = takings.length === 1 && first !== undefined ? this.takeHeld(first) : null;
    return own === null ? this.takeAll(takings) : [own];
  }

  /** Returns what is unused, which another worker needs. */
  giveBack(name: string, subject: string): number {
    const key = `${name} ${subject}`;
    const held = this.held.get(key);
    this.held.delete(key);
    return held === undefined || held.until <= this.clock() ? 0 : held.unused;
  }

  /** Returns everything that is unused, when this process ends. */
  giveBackAll(): UnusedGrant[] {
    return [...this.held.keys()].flatMap((key) => {
      const end = key.indexOf(' ');
      const [name, subject] = [key.slice(0, end), key.slice(end + 1)];
      const unused = this.giveBack(name, subject);
      return unused === 0 ? [] : [{ name, subject, unused }];
    });
  }

  private async takeAll(takings: readonly Taking[]): Promise<readonly LimitResult[]> {
    const results: LimitResult[] = [];
    for (const taking of takings) {
      const isRefused = results.some(({ isTaken }) => !isTaken);
      const wanted = isRefused ? { ...taking, amount: 0 } : taking;
      const result = this.takeHeld(wanted) ?? (await this.takeAsked(wanted));
      results.push(isRefused ? { ...result, isTaken: false } : result);
    }
    return results;
  }

  private takeHeld({ limit, subject, amount }: Taking): LimitResult | null {
    const held = this.held.get(`${limit.name} ${subject}`);
    if (held === undefined || held.unused < amount || held.unused === 0 || held.until <= this.clock())
      return null;
    held.unused -= amount;
    held.taken += amount;
    return { isTaken: true, taken: held.taken, until: held.until };
  }

  private async takeAsked({ limit, subject, amount }: Taking): Promise<LimitResult> {
    const { name, amount: most, window } = limit;
    const asked = this.clock();
    const grant = await this.ask({
      name,
      limit: most,
      window,
      subject,
      amount,
      known: this.knownOf(limit, subject),
    });
    // Without the process that counts, this one is about to end.
    if (grant === null) return limit.take(subject, amount);
    const { isTaken, extra } = grant;
    // From the time before the request, so that nothing is taken after the window.
    const until = asked + grant.left;
    const taken = grant.taken - extra;
    if (extra > 0) this.hold(`${name} ${subject}`, { unused: extra, taken, until });
    return { isTaken, taken, until };
  }

  /** Counts of all processes, as Redis had them last. */
  private knownOf(limit: Limit, subject: string): GrantRequest['known'] {
    const { taken, until } = limit.take(subject, 0);
    return taken === 0 ? null : { taken, left: until - this.clock() };
  }

  /** Simultaneous requests may each have been granted something. */
  private hold(key: string, granted: Held): void {
    const before = this.held.get(key);
    const kept = before !== undefined && before.until > this.clock() ? before.unused : 0;
    this.held.set(key, { ...granted, unused: granted.unused + kept });
  }
}
