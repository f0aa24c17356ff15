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

/** Milliseconds between two comparisons: each reads the whole directory. */
const COMPARE_INTERVAL = 30_000;

/** How long a server that is behind what is mirrored is waited for. */
export class BehindWatch {
  private since: number | null = null;
  private compared: { readonly state: string; readonly at: number } | null = null;
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
    this.begin();
    if (!this.isOver) return this.isNew(state) ? 'compare' : 'wait';
    if (isHeld && this.held === state) return 'await';
    this.held = state;
    return 'hold';
  }

  /** A server turned out to be behind. */
  begin(): void {
    this.since ??= this.now();
  }

  /** Whether it was waited for long enough. */
  get isOver(): boolean {
    return this.since !== null && this.now() - this.since >= this.patience;
  }

  /** A server has everything that is mirrored. */
  clear(): void {
    this.since = null;
    this.compared = null;
    this.held = null;
  }

  /** Whether a comparison could tell anything new, and the last one was long ago. */
  private isNew(state: string): boolean {
    const now = this.now();
    if (this.compared?.state === state) return false;
    if (this.compared !== null && now - this.compared.at < COMPARE_INTERVAL) return false;
    this.compared = { state, at: now };
    return true;
  }
}
