import { Injectable } from '@nestjs/common';

export interface FlightKey {
  readonly key: string;
  /** Everything else on which the result depends, and that can change while the key stays the same. */
  readonly stamp: string;
}

interface Flight {
  readonly stamp: string;
  /** Null after the execution has ended. */
  result: Promise<unknown> | null;
}

/** Coalesces requests: those that arrive during an identical execution wait for its result. */
@Injectable()
export class SingleFlight {
  private readonly underWay = new Map<string, Flight>();

  /** Runs `work`, or waits for the result of the same flight. Null: no other request may share it. */
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
      // V8 keeps the old table of a map that has grown, with everything in it, until the next full garbage
      // collection.
      own.result = null;
      if (this.underWay.get(key) === own) this.underWay.delete(key);
    }
  }
}
