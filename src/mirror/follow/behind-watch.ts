/** What to do about a server that lacks some of the mirrored changes. */
type BehindStep =
  /** Its contents may still equal the mirror. Compare them, and apply nothing if they differ. */
  | 'compare'
  /** The server may be catching up. */
  | 'wait'
  /** The server does not seem to catch up. An operator decides. */
  | 'hold'
  /** An operator has already been asked about the same state of the server. */
  | 'await';

/** Milliseconds between two comparisons. Each comparison reads the whole directory. */
const COMPARE_INTERVAL = 30_000;

export class BehindWatch {
  private since: number | null = null;
  private compared: { readonly state: string; readonly at: number } | null = null;
  private held: string | null = null;

  /**
   * @param timeoutMs milliseconds to wait
   * @param now milliseconds on a monotonic clock
   */
  constructor(
    private readonly timeoutMs: number,
    private readonly now: () => number = () => performance.now(),
  ) {}

  /**
   * @param state state of the server
   * @param isHeld whether a plan waits for an operator
   */
  next(state: string, isHeld: boolean): BehindStep {
    this.begin();
    if (!this.isOver) return this.isNew(state) ? 'compare' : 'wait';
    if (isHeld && this.held === state) return 'await';
    this.held = state;
    return 'hold';
  }

  /** Records that a server is behind. The wait starts with the first call. */
  begin(): void {
    this.since ??= this.now();
  }

  get isOver(): boolean {
    return this.since !== null && this.now() - this.since >= this.timeoutMs;
  }

  clear(): void {
    this.since = null;
    this.compared = null;
    this.held = null;
  }

  /** Whether a comparison could have a new result, and the last one was long enough ago. */
  private isNew(state: string): boolean {
    const now = this.now();
    if (this.compared?.state === state) return false;
    if (this.compared !== null && now - this.compared.at < COMPARE_INTERVAL) return false;
    this.compared = { state, at: now };
    return true;
  }
}
