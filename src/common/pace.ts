/** Says when it is time to tell something again: not before an interval is over, the first one included. */
export class Pace {
  private last: number;

  /**
   * @param interval milliseconds
   * @param clock milliseconds since any instant
   */
  constructor(
    private readonly interval: number,
    private readonly clock: () => number = () => performance.now(),
  ) {
    this.last = clock();
  }

  /** Whether it is time; if so, the next interval begins. */
  isDue(): boolean {
    const now = this.clock();
    if (now - this.last < this.interval) return false;
    this.last = now;
    return true;
  }
}
