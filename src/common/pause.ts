import { setImmediate as yieldToOthers } from 'node:timers/promises';

/** Milliseconds for which long work runs before requests are served. */
const LONGEST_MS = 10;

let since = 0;

/** Lets other work of the process run, if it has waited for some milliseconds. */
export async function pause(): Promise<void> {
  if (performance.now() - since < LONGEST_MS) return;
  await yieldToOthers();
  since = performance.now();
}
