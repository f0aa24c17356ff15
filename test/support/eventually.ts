import { isDeepStrictEqual } from 'node:util';
import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Milliseconds after which a waiting test fails instead of hanging. It is not an assertion: conditions become true much earlier,
 * even on a busy machine.
 */
export const LONGEST_WAIT = 240_000;

/** Polls until the value equals the expected one. */
export async function eventually<Value>(read: () => Promise<Value>, wanted: Value): Promise<void> {
  const latest = performance.now() + LONGEST_WAIT;
  for (;;) {
    const value = await read();
    if (JSON.stringify(value) === JSON.stringify(wanted)) return;
    if (performance.now() > latest)
      throw new Error(`It is ${JSON.stringify(value)}, and not ${JSON.stringify(wanted)}`);
    await sleep(20);
  }
}

/** Whether two values have equal contents. One may be of the realm of the application: both are copied into one. */
export function isEqual(one: unknown, other: unknown): boolean {
  return isDeepStrictEqual(structuredClone(one), structuredClone(other));
}
