import type { PrincipalKind } from '../../auth/principal.js';

/** Upper bounds of the buckets in seconds, from cached responses up to timeouts. */
export const BOUNDS: readonly number[] = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
];

export interface RequestCount {
  readonly route: string;
  readonly operation: string;
  /** Number of requests by HTTP status. */
  readonly codes: Map<number, number>;
  /** Requests above the previous bound and up to the own one. The last bucket counts those above all BOUNDS. */
  readonly buckets: number[];
  seconds: number;
  points: number;
  statements: number;
}

/** Kind of the principal of an operation. NONE: there is no token. */
export type PrincipalLabel = PrincipalKind | 'NONE';

/** Counts requests since the start. Counting one costs a fraction of a microsecond and allocates nothing. */
export class RequestCounts {
  /** Number of operations by the kind of their token. */
  readonly byPrincipal = new Map<PrincipalLabel, number>();
  private readonly byRoute = new Map<string, Map<string, RequestCount>>();

  /**
   * @param route a declared route, so that the number of routes is bounded
   * @param operation a known operation, so that the number of operations is bounded
   */
  of(route: string, operation: string): RequestCount {
    return this.byRoute.get(route)?.get(operation) ?? this.begin(route, operation);
  }

  addOperation(principal: PrincipalLabel): void {
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

export function addRequest(count: RequestCount, code: number, seconds: number): void {
  count.codes.set(code, (count.codes.get(code) ?? 0) + 1);
  count.seconds += seconds;
  let bucket = 0;
  while (seconds > (BOUNDS[bucket] ?? Infinity)) bucket++;
  count.buckets[bucket] = (count.buckets[bucket] ?? 0) + 1;
}
