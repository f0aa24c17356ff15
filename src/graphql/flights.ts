import { Injectable } from '@nestjs/common';

/** Work that is under way; null when it has come to its end. */
interface Flight {
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
   * @param key stands for the work and for everything that it depends on; null: nobody else's is the same
   * @returns what the work comes to, and whether it was done for this caller
   */
  async share<Result>(
    key: string | null,
    work: () => Promise<Result>,
  ): Promise<{ result: Result; isOwn: boolean }> {
    if (key === null) return { result: await work(), isOwn: true };
    const known = this.underWay.get(key) as { result: Promise<Result> | null } | undefined;
    if (known !== undefined && known.result !== null) return { result: await known.result, isOwn: false };
    const result = work();
    const flight: Flight = { result };
    this.underWay.set(key, flight);
    try {
      return { result: await result, isOwn: true };
    } finally {
      // A map that has grown leaves its old table behind, and V8 keeps all that was in it until it collects everything:
      // that is to be no answer.
      flight.result = null;
      this.underWay.delete(key);
    }
  }
}
