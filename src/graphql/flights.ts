import { Injectable } from '@nestjs/common';

/**
 * Work that is under way, by what it is for: whoever comes while it is waits for it instead of doing the same. After a
 * revision everybody asks for the same pages at once, and none of them is remembered.
 */
@Injectable()
export class Flights {
  private readonly underWay = new Map<string, Promise<unknown>>();

  /**
   * @param key stands for the work and for everything that it depends on; null: nobody else's is the same
   * @returns what the work comes to, and whether it was done for this caller
   */
  async share<Result>(
    key: string | null,
    work: () => Promise<Result>,
  ): Promise<{ result: Result; isOwn: boolean }> {
    if (key === null) return { result: await work(), isOwn: true };
    const known = this.underWay.get(key) as Promise<Result> | undefined;
    if (known !== undefined) return { result: await known, isOwn: false };
    const flight = work();
    this.underWay.set(key, flight);
    try {
      return { result: await flight, isOwn: true };
    } finally {
      this.underWay.delete(key);
    }
  }
}
