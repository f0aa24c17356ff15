/** An entry whose id changes. */
export interface Rename {
  readonly uuid: string;
  /** The ids in the form in which they are compared: see foldId. */
  readonly from: string;
  readonly to: string;
}

/**
 * Orders renames so that each id is released before another entry receives it. Entries that exchange their
 * ids in a cycle have no such order.
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
      // Only the spelling of the id changes.
      if (next === waiting.at(-1)) next = undefined;
    }
    for (const rename of waiting.reverse()) ordered.add(rename);
  }
  return [...ordered];
}
