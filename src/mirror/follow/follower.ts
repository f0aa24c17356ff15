export interface Follower {
  /**
   * Follows the directory until the signal aborts. Every error is logged, and the work is tried again.
   * @param settled called when the first run has ended, successfully or not
   */
  follow(signal: AbortSignal, settled: () => void): Promise<void>;
}
