/** Below this a loop is quicker than Buffer.copy, which makes a view of the source first. */
const LOOP_BYTES = 64;

/** Copies source[start, end) into the target, which has room for it from `position` on. */
export function copyBytes(
  source: Buffer,
  start: number,
  end: number,
  target: Buffer,
  position: number,
): void {
  if (end - start > LOOP_BYTES) {
    source.copy(target, position, start, end);
    return;
  }
  const shift = position - start;
  for (let index = start; index < end; index += 1) {
    target[index + shift] = source[index] ?? 0;
  }
}
