/** Limits how often an event is reported. The first report waits for one interval too. */
export class Pace {
  private last: number;

  constructor(
    private readonly interval: number,
    private readonly clock: () => number = () => performance.now(),
  ) {
    this.last = clock();
  }

  /** Returns whether the interval is over. If so, the next interval begins. */
  isDue(): boolean {
    const now = this.clock();
    if (now - this.last < this.interval) return false;
    this.last = now;
    return true;
  }
}
