import { isDeepStrictEqual } from 'node:util';
import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Milliseconds after which a test that waits for something fails instead of hanging. It is no bound that a test is about:
 * what becomes true at all does so much earlier, also on a machine that is busy with other work.
 */
export const LONGEST_WAIT = 240_000;

/** Polls until the value that is read equals the wanted one. */
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

/** Whether two values have the same contents. One of them may be of the realm of the application: both are copied into one. */
export function isEqual(one: unknown, other: unknown): boolean {
  return isDeepStrictEqual(structuredClone(one), structuredClone(other));
}
