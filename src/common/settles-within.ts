import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';

/** Milliseconds of one step. */
const STEP_MS = 50;

/**
 * Whether a promise settles within a time. It waits in steps, so that a blocked event loop costs one step, and
 * events that arrived in the meantime count as in time.
 */
export async function settlesWithin(milliseconds: number, work: Promise<unknown>): Promise<boolean> {
  const settled = new AbortController();
  const settle = () => {
    settled.abort();
  };
  work.then(settle, settle);
  for (let left = milliseconds; left > 0 && !settled.signal.aborted; left -= STEP_MS) {
    await sleep(Math.min(STEP_MS, left), undefined, { signal: settled.signal }).catch(() => undefined);
  }
  // After the last step, pending socket events have not been processed yet.
  if (!settled.signal.aborted) await nextTurn();
  return settled.signal.aborted;
}

/** The result of the work. @throws Error if it takes too long */
export async function inTime<Result>(milliseconds: number, work: Promise<Result>): Promise<Result> {
  if (await settlesWithin(milliseconds, work)) return work;
  throw new Error(`No answer within ${milliseconds} ms`);
}
