/** An entry that gets another id. */
export interface Rename {
  readonly uuid: string;
  /** The ids as they are compared: see foldId. */
  readonly from: string;
  readonly to: string;
}

/**
 * Orders renames so that each id is given up before another entry gets it, as far as that is possible: entries that pass
 * their ids round in a circle have no such order.
 */
export function orderRenames(renames: readonly Rename[]): Rename[] {
  const holders = new Map(renames.map((rename) => [rename.from, rename]));
  const ordered = new Set<Rename>();
  for (const first of renames) {
    const waiting: Rename[] = [];
    let next: Rename | undefined = first;
    while (next !== undefined && !ordered.has(next) && !(next === first && waiting.length > 0)) {
      waiting.push(next);
      next = holders.get(next.to);
      // Only its spelling changes.
      if (next === waiting.at(-1)) next = undefined;
    }
    for (const rename of waiting.reverse()) ordered.add(rename);
  }
  return [...ordered];
}
