import cluster, { type Worker } from 'node:cluster';
import { LRUCache } from 'lru-cache';
import { Limit, type LimitResult, type Taking } from './limits.js';

/** What this process may still take of a limit without asking. */
interface Held {
  unused: number;
  /** What all processes have taken, as far as it is known here, without `unused`. */
  taken: number;
  readonly until: number;
}

/** A question to the first process, and its answer. An instant of `performance.now()` means nothing in another process. */
interface Question extends Pick<Limit, 'name' | 'amount' | 'window'>, Pick<Taking, 'subject'> {
  readonly limits: number;
  readonly wanted: number;
}
interface Answer extends Omit<LimitResult, 'until'> {
  readonly limits: number;
  readonly milliseconds: number;
}

/** A process takes this part of a limit at once, because a message costs as much as a cached response. */
const PARTS = 64;
const MAX_SUBJECTS = 100_000;
/** Milliseconds for an answer of the first process. */
const TIMEOUT_MS = 1000;

const isMessage = (message: unknown): message is { limits: number } =>
  typeof message === 'object' && message !== null && 'limits' in message;

/** Lets this process, the first one, count for all others. A reload may bring another amount for a limit, which is then counted from zero. */
export function countForCluster(): void {
  const limits = new LRUCache<string, Limit>({ max: 100 });
  cluster.on('message', (worker: Worker, message: unknown) => {
    if (!isMessage(message)) return;
    const { limits: number, name, amount, window, subject, wanted } = message as Question;
    const key = `${name} ${amount} ${window}`;
    const limit = limits.get(key) ?? new Limit(name, amount, window);
    limits.set(key, limit);
    const { until, ...result } = limit.take(subject, wanted);
    const answer: Answer = { limits: number, ...result, milliseconds: until - performance.now() };
    if (worker.isConnected()) worker.send(answer);
  });
}

/**
 * The counts of all processes of a cluster, which the first one keeps (docs/adr/0044). What a process has taken in advance stays
 * taken, so that the processes never exceed a limit together.
 */
export class ClusterCounts {
  private readonly held = new LRUCache<string, Held>({ max: MAX_SUBJECTS });
  private readonly open = new Map<number, (answer: Answer) => void>();
  private asked = 0;

  constructor() {
    process.on('message', (message: unknown) => {
      if (isMessage(message)) this.open.get(message.limits)?.(message as Answer);
    });
  }

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
    const extra = taking.amount === 0 ? 0 : Math.floor(taking.limit.amount / PARTS);
    const first = await this.ask(taking, taking.amount + extra);
    if (extra === 0) return first;
    if (!first.isTaken) return this.ask(taking, taking.amount);
    const taken = first.taken - extra;
    this.hold(`${taking.limit.name} ${taking.subject}`, { unused: extra, taken, until: first.until });
    return { ...first, taken };
  }

  /** A first process that does not answer ends, and this one with it: until then it counts alone. */
  private ask({ limit, subject }: Taking, wanted: number): Promise<LimitResult> {
    const { name, amount, window } = limit;
    const number = ++this.asked;
    return new Promise((resolve) => {
      const settle = (result: LimitResult) => {
        clearTimeout(timer);
        this.open.delete(number);
        resolve(result);
      };
      const alone = () => {
        settle(limit.take(subject, wanted));
      };
      const timer = setTimeout(alone, TIMEOUT_MS);
      this.open.set(number, ({ isTaken, taken, milliseconds }) => {
        settle({ isTaken, taken, until: performance.now() + milliseconds });
      });
      const question: Question = { limits: number, name, amount, window, subject, wanted };
      process.send?.(question, undefined, undefined, (error) => {
        if (error !== null) alone();
      });
    });
  }

  /** Simultaneous requests may each have taken something in advance. */
  private hold(key: string, taken: Held): void {
    const before = this.held.get(key);
    const kept = before !== undefined && before.until > performance.now() ? before.unused : 0;
    this.held.set(key, { ...taken, unused: taken.unused + kept });
  }
}
