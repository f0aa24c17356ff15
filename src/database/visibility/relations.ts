/** A relation in front of a statement. */
export interface Relation {
  readonly name: string;
  readonly isMaterialized?: true;
  /** Whether it has values of the viewer, all of which have to occur in the statement. */
  readonly hasValues?: boolean;
  /** @param words those of the statement and of the relations behind this one */
  readonly select: (words: ReadonlySet<string>) => string;
}

/**
 * The relations whose names occur in a statement, with the columns whose names occur. PostgreSQL visits all of them at each
 * execution, also those that it does not use.
 */
export function relationsOf(text: string, relations: readonly Relation[]): string {
  const words = new Set<string>();
  const note = (sql: string) => sql.match(/\w+/g)?.forEach((word) => words.add(word.toLowerCase()));
  note(text);
  const chosen: string[] = [];
  // A relation can only mention those before it.
  for (const { name, isMaterialized, hasValues, select } of [...relations].reverse()) {
    if (!words.has(name) && hasValues !== true) continue;
    const sql = select(words);
    note(sql);
    chosen.unshift(`${name} as ${isMaterialized === true ? '' : 'not '}materialized (\n  ${sql})`);
  }
  return chosen.length === 0 ? '' : `with ${chosen.join(',\n')}\n`;
}

export function relation(name: string, select: string, isMaterialized?: true): Relation {
  return { name, select: () => select, ...(isMaterialized && { isMaterialized }) };
}
