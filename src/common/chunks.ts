/** Yields a list in parts of at most `size` elements. */
export function* chunksOf<Each>(all: readonly Each[], size: number): Generator<readonly Each[]> {
  for (let start = 0; start < all.length; start += size) yield all.slice(start, start + size);
}
