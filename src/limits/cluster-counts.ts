import { LRUCache } from 'lru-cache';
import { RateLimiterCluster, type RateLimiterRes } from 'rate-limiter-flexible';
import type { Limit, LimitResult, Taking } from './limits.js';

/** What this process may still take of a limit without asking. */
interface Held {
  unused: number;
  /** What all processes have taken, as far as it is known here, without `unused`. */
  taken: number;
  readonly until: number;
}

/** A process takes this part of a limit at once, because a message costs as much as a cached response. */
const PARTS = 64;
const MAX_SUBJECTS = 100_000;
/** Milliseconds for an answer of the first process. */
const TIMEOUT_MS = 1000;

/**
 * The counts of all processes of a cluster, which rate-limiter-flexible keeps in the first one (docs/adr/0044). What a process
 * has taken in advance stays taken, so that the processes never exceed a limit together.
 */
export class ClusterCounts {
  private readonly limiters = new WeakMap<Limit, RateLimiterCluster>();
  private readonly held = new LRUCache<string, Held>({ max: MAX_SUBJECTS });

  /** Takes one after another, up to the first that does not fit. Returns no promise if it need not ask. */
  take(takings: readonly Taking[]): readonly LimitResult[] | Promise<readonly LimitResult[]> {
    const [first] = takings;
    const own = takings.length === 1 && first !== undefined ? this.takeHeld(first) : null;
    return own === null ? this.takeAll(takings) : [own];
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
    if (held === undefined || held.unused === 0 || held.unused < amount || held.until <= performance.now())
      return null;
    held.unused -= amount;
    held.taken += amount;
    return { isTaken: true, taken: held.taken, until: held.until };
  }

  private async takeAsked(taking: Taking): Promise<LimitResult> {
    try {
      return await (taking.amount === 0 ? this.read(taking) : this.consume(taking));
    } catch {
      // The first process does not answer, so this one is about to end.
      return taking.limit.take(taking.subject, taking.amount);
    }
  }

  private async read({ limit, subject }: Taking): Promise<LimitResult> {
    const found = await this.limiterOf(limit).get(subject);
    return resultOf(limit, found ?? { consumedPoints: 0, msBeforeNext: limit.window * 1000 }, 0);
  }

  /** The library adds first, and checks afterwards: what does not fit is returned. */
  private async consume({ limit, subject, amount }: Taking): Promise<LimitResult> {
    const limiter = this.limiterOf(limit);
    const extra = Math.floor(limit.amount / PARTS);
    for (const more of extra === 0 ? [0] : [extra, 0]) {
      const found = await limiter.consume(subject, amount + more).catch(readRejection);
      const result = resultOf(limit, found, more);
      if (!result.isTaken) await limiter.reward(subject, amount + more);
      else if (more > 0) this.hold(`${limit.name} ${subject}`, { ...result, unused: more });
      if (result.isTaken) return result;
      if (more === 0) return { ...result, taken: result.taken - amount };
    }
    throw new Error('The limit was not asked');
  }

  /** Simultaneous requests may each have taken something in advance. */
  private hold(key: string, taken: Held): void {
    const before = this.held.get(key);
    const kept = before !== undefined && before.until > performance.now() ? before.unused : 0;
    this.held.set(key, { ...taken, unused: taken.unused + kept });
  }

  private limiterOf(limit: Limit): RateLimiterCluster {
    const { name, amount, window } = limit;
    let limiter = this.limiters.get(limit);
    if (limiter === undefined) {
      // The first process keeps a limiter with this prefix, also while other processes start with another amount.
      const keyPrefix = `${name}-${amount}-${window}`;
      limiter = new RateLimiterCluster({
        keyPrefix,
        points: amount,
        duration: window,
        timeoutMs: TIMEOUT_MS,
      });
      this.limiters.set(limit, limiter);
    }
    return limiter;
  }
}

/** rate-limiter-flexible rejects with its result if the limit is exceeded. */
export function readRejection(reason: unknown): RateLimiterRes {
  if (reason instanceof Error) throw reason;
  return reason as RateLimiterRes;
}

function resultOf(
  limit: Limit,
  { consumedPoints, msBeforeNext }: Pick<RateLimiterRes, 'consumedPoints' | 'msBeforeNext'>,
  extra: number,
): LimitResult {
  const isTaken = consumedPoints <= limit.amount;
  return { isTaken, taken: Math.max(0, consumedPoints - extra), until: performance.now() + msBeforeNext };
}
