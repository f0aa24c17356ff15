import { setTimeout as sleep } from 'node:timers/promises';
import { startClock } from './own-time.js';

/** Waits until something has a value, which it then has for good. */
export async function eventually<Value>(
  read: () => Promise<Value>,
  wanted: Value,
  milliseconds = 10_000,
): Promise<void> {
  const elapsed = startClock();
  for (;;) {
    const value = await read();
    if (JSON.stringify(value) === JSON.stringify(wanted)) return;
    if (elapsed() > milliseconds)
      throw new Error(`It is ${JSON.stringify(value)}, and not ${JSON.stringify(wanted)}`);
    await sleep(20);
  }
}
