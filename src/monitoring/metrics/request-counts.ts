import type { TokenKind } from '../../auth/principal.js';

/** Seconds up to which a request belongs to a bucket: from what is remembered to what is given up. */
export const BOUNDS: readonly number[] = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
];

/** Requests of one kind, added up. */
export interface RequestCount {
  readonly route: string;
  readonly operation: string;
  /** By HTTP status. */
  readonly codes: Map<number, number>;
  /** How many took up to each of BOUNDS and longer than up to the one before; those that took longer than all come last. */
  readonly buckets: number[];
  seconds: number;
  points: number;
  statements: number;
}

/** How the callers of operations are known; NONE: without a token. */
export type PrincipalKind = TokenKind | 'NONE';

/** Requests since the start. Counting one costs a fraction of a microsecond: nothing is made for it. */
export class RequestCounts {
  /** Operations by the kind of token that came with them. */
  readonly byPrincipal = new Map<PrincipalKind, number>();
  private readonly byRoute = new Map<string, Map<string, RequestCount>>();

  /**
   * @param route of those that there are
   * @param operation what is asked for there, of those that there are
   */
  of(route: string, operation: string): RequestCount {
    return this.byRoute.get(route)?.get(operation) ?? this.begin(route, operation);
  }

  addOperation(principal: PrincipalKind): void {
    this.byPrincipal.set(principal, (this.byPrincipal.get(principal) ?? 0) + 1);
  }

  get all(): RequestCount[] {
    return [...this.byRoute.values()].flatMap((counts) => [...counts.values()]);
  }

  private begin(route: string, operation: string): RequestCount {
    let counts = this.byRoute.get(route);
    if (counts === undefined) {
      counts = new Map();
      this.byRoute.set(route, counts);
    }
    const count = {
      route,
      operation,
      codes: new Map<number, number>(),
      buckets: Array.from({ length: BOUNDS.length + 1 }, () => 0),
      seconds: 0,
      points: 0,
      statements: 0,
    };
    counts.set(operation, count);
    return count;
  }
}

/** Counts one request. */
export function addRequest(count: RequestCount, code: number, seconds: number): void {
  count.codes.set(code, (count.codes.get(code) ?? 0) + 1);
  count.seconds += seconds;
  let bucket = 0;
  while (seconds > (BOUNDS[bucket] ?? Infinity)) bucket++;
  count.buckets[bucket] = (count.buckets[bucket] ?? 0) + 1;
}
