/**
 * How long answers are waited for. One that is slow uses it up, and so do those that follow, until one is quick again:
 * who asks never waits much longer than that in all.
 */
export class Patience {
  /** Milliseconds that slow answers have taken since the last quick one, each counted once however many waited. */
  private waited = 0;
  private lastAnswer = 0;

  /**
   * @param quick milliseconds within which an answer is quick
   * @param all milliseconds that slow ones may take, one after another
   */
  constructor(
    private readonly quick: number,
    private readonly all: number,
  ) {}

  /**
   * Begins to wait. The time that this process is busy with other things does not count: nothing is written before a
   * turn of it is over, and what has come is read before a turn is judged.
   * @param giveUp called when patience is at its end
   * @returns to be called when the answer is there
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
      afterReading(this.quick, () => {
        isSlow = true;
        afterReading(Math.max(0, this.all - this.waited - this.quick), giveUp);
      });
    });
    return () => {
      clearTimeout(timer);
      clearImmediate(turn);
      const now = performance.now();
      this.waited = isSlow ? this.waited + now - Math.max(begun, this.lastAnswer) : 0;
      this.lastAnswer = now;
    };
  }
}
