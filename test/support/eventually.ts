import { isDeepStrictEqual } from 'node:util';
import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Milliseconds after which a waiting test fails instead of hanging. It is not an assertion: conditions become true much earlier,
 * even on a busy machine.
 */
export const LONGEST_WAIT = 240_000;
/** Milliseconds between two readings: more during a long wait, because readings take processor time of other suites. */
const FIRST_PAUSE = 20;
const LONGEST_PAUSE = 200;

/** Polls until the value equals the expected one. */
export async function eventually<Value>(read: () => Promise<Value>, wanted: Value): Promise<void> {
  const latest = performance.now() + LONGEST_WAIT;
  for (let pause = FIRST_PAUSE; ; pause = Math.min(LONGEST_PAUSE, pause * 1.2)) {
    const value = await read();
    if (JSON.stringify(value) === JSON.stringify(wanted)) return;
    if (performance.now() > latest)
      throw new Error(`It is ${JSON.stringify(value)}, and not ${JSON.stringify(wanted)}`);
    await sleep(pause);
  }
}

/** Whether two values have equal contents. One may be of the realm of the application: both are copied into one. */
export function isEqual(one: unknown, other: unknown): boolean {
  return isDeepStrictEqual(structuredClone(one), structuredClone(other));
}
