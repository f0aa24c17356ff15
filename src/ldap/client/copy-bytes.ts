/** Up to this size a loop is faster than Buffer.copy, which first makes a view of the source. */
const LOOP_BYTES = 64;

/** Copies source[start, end) to the target at `position`. The target must be large enough. */
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
