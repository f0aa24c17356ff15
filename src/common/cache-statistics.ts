/** How a cache does: what it was asked for since the start, and what is in it now. */
export interface CacheStatistics {
  readonly hits: number;
  readonly misses: number;
  readonly entries: number;
  /** About as many as its entries take; null: they are not measured. */
  readonly bytes: number | null;
}
