export interface CacheStatistics {
  readonly hits: number;
  readonly misses: number;
  readonly entries: number;
  /** Approximate size of the entries in bytes. Null: the size is not measured. */
  readonly bytes: number | null;
}
