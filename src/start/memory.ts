import { setFlagsFromString } from 'node:v8';

/** By how much objects that have lasted may grow before they are collected, in per cent of what was left the last time. */
const GROWTH = 45;

/**
 * Keeps the process small. V8 by itself waits until there are up to four times as many, the longer the less garbage there is:
 * under load a process then holds 150 MB that nothing needs. Collecting them at this growth was not to be seen in what an answer costs.
 */
export function keepHeapSmall(): void {
  setFlagsFromString(`--heap-growing-percent=${GROWTH}`);
}
