/**
 * Limits how long requests wait for a slow server in all. Slow answers use up the budget, and a quick one restores it.
 */
export class LatencyBudget {
  /** Milliseconds of slow answers since the last quick one. Answers that were slow at the same time count once. */
  private usedMs = 0;
  private lastAnswer = 0;

  /**
   * @param quickMs the time of a quick answer
   * @param totalMs the time of consecutive slow answers together
   */
  constructor(
    private readonly quickMs: number,
    private readonly totalMs: number,
  ) {}

  /**
   * Starts to wait for an answer. Time in which this process is busy does not count: a turn of the event loop passes
   * before the request is written, and another before a missing answer counts.
   * @param giveUp called when the budget is used up
   * @returns a function to call when the answer is there
   */
  begin(giveUp: () => void): () => void {
    let begun = 0;
    let isSlow = false;
    let timer: NodeJS.Timeout | undefined;
    const afterReading = (milliseconds: number, then: () => void) => {
      timer = setTimeout(() => {
        turn = setImmediate(then);
      }, milliseconds);
    };
    let turn = setImmediate(() => {
      begun = performance.now();
      afterReading(this.quickMs, () => {
        isSlow = true;
        afterReading(Math.max(0, this.totalMs - this.usedMs - this.quickMs), giveUp);
      });
    });
    return () => {
      clearTimeout(timer);
      clearImmediate(turn);
      const now = performance.now();
      this.usedMs = isSlow ? this.usedMs + now - Math.max(begun, this.lastAnswer) : 0;
      this.lastAnswer = now;
    };
  }
}
