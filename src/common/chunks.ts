/** The values of rows in one array for each property, as SQL takes them with `unnest`. */
export function arraysOf<Row>(rows: readonly Row[], ...properties: (keyof Row)[]): Row[keyof Row][][] {
  return properties.map((property) => rows.map((row) => row[property]));
}

/** Yields a list in parts of at most `size` elements. */
export function* chunksOf<Each>(all: readonly Each[], size: number): Generator<readonly Each[]> {
  for (let start = 0; start < all.length; start += size) yield all.slice(start, start + size);
}
