import { Injectable } from '@nestjs/common';

/** Identifies work that is under way. */
export interface FlightKey {
  readonly key: string;
  /** Everything else that the result depends on, and that changes while the key stays. */
  readonly stamp: string;
}

interface Flight {
  readonly stamp: string;
  /** Null after its end. */
  result: Promise<unknown> | null;
}

/** Coalesces requests: those that arrive while the same work is under way wait for its result. */
@Injectable()
export class SingleFlight {
  private readonly underWay = new Map<string, Flight>();

  /**
   * @param flight null if no other request may share the result
   * @returns the result, and whether this call did the work
   */
  async run<Result>(
    flight: FlightKey | null,
    work: () => Promise<Result>,
  ): Promise<{ result: Result; isOwn: boolean }> {
    if (flight === null) return { result: await work(), isOwn: true };
    const { key, stamp } = flight;
    const known = this.underWay.get(key) as (Flight & { result: Promise<Result> | null }) | undefined;
    if (known !== undefined && known.stamp === stamp && known.result !== null) {
      return { result: await known.result, isOwn: false };
    }
    const result = work();
    const own: Flight = { stamp, result };
    this.underWay.set(key, own);
    try {
      return { result: await result, isOwn: true };
    } finally {
      // V8 keeps the old table of a map that has grown, with everything in it, until the next full collection.
      own.result = null;
      if (this.underWay.get(key) === own) this.underWay.delete(key);
    }
  }
}
