import { Injectable } from '@nestjs/common';

/** What work that is under way is known by. */
export interface FlightName {
  readonly key: string;
  /** What else it depends on, and what changes while the key stays. */
  readonly stamp: string;
}

/** Work that is under way; null when it has come to its end. */
interface Flight {
  readonly stamp: string;
  result: Promise<unknown> | null;
}

/**
 * Work that is under way, by what it is for: whoever comes while it is waits for it instead of doing the same. After a
 * revision everybody asks for the same pages at once, and none of them is remembered.
 */
@Injectable()
export class Flights {
  private readonly underWay = new Map<string, Flight>();

  /**
   * @param name stands for the work and for everything that it depends on; null: nobody else's is the same
   * @returns what the work comes to, and whether it was done for this caller
   */
  async share<Result>(
    name: FlightName | null,
    work: () => Promise<Result>,
  ): Promise<{ result: Result; isOwn: boolean }> {
    if (name === null) return { result: await work(), isOwn: true };
    const { key, stamp } = name;
    const known = this.underWay.get(key) as (Flight & { result: Promise<Result> | null }) | undefined;
    if (known !== undefined && known.stamp === stamp && known.result !== null) {
      return { result: await known.result, isOwn: false };
    }
    const result = work();
    const flight: Flight = { stamp, result };
    this.underWay.set(key, flight);
    try {
      return { result: await result, isOwn: true };
    } finally {
      // A map that has grown leaves its old table behind, and V8 keeps all that was in it until it collects everything:
      // that is to be no answer.
      flight.result = null;
      if (this.underWay.get(key) === flight) this.underWay.delete(key);
    }
  }
}
