/** What to do about a server that does not have everything that is mirrored. */
export type BehindStep =
  /** Its contents may be those of the mirror all the same: compare them, and take nothing over that is different. */
  | 'compare'
  /** It may be catching up. */
  | 'wait'
  /** It does not seem to: an operator decides. */
  | 'hold'
  /** An operator has been asked already, about these very contents. */
  | 'await';

/** How long a server that is behind what is mirrored is waited for. */
export class BehindWatch {
  private since: number | null = null;
  private held: string | null = null;

  /**
   * @param patience milliseconds
   * @param now milliseconds on a clock that only goes forward
   */
  constructor(
    private readonly patience: number,
    private readonly now: () => number = () => performance.now(),
  ) {}

  /**
   * @param state of the server
   * @param isHeld a plan waits for an operator
   */
  next(state: string, isHeld: boolean): BehindStep {
    const isFirst = this.since === null;
    this.since ??= this.now();
    if (this.now() - this.since < this.patience) return isFirst ? 'compare' : 'wait';
    if (isHeld && this.held === state) return 'await';
    this.held = state;
    return 'hold';
  }

  /** A server has everything that is mirrored. */
  clear(): void {
    this.since = null;
    this.held = null;
  }
}
