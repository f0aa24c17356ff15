/** Keeps the mirror true to one kind of directory. */
export interface Follower {
  /**
   * Follows the directory until it is told to stop. Whatever goes wrong is told, and tried again.
   * @param settled to be called when the first run has ended, well or badly
   */
  follow(signal: AbortSignal, settled: () => void): Promise<void>;
}
