import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';

const STEP_MS = 50;

/**
 * Whether a promise settles within a time. It waits in steps, so that a blocked event loop costs one step, and
 * events that arrived in the meantime count as in time.
 */
export async function settlesWithin(milliseconds: number, work: Promise<unknown>): Promise<boolean> {
  const yes = () => true;
  const settled = work.then(yes, yes);
  for (let left = milliseconds; left > 0; left -= STEP_MS) {
    if (await Promise.race([settled, sleep(Math.min(STEP_MS, left), false)])) return true;
  }
  // After the last step, pending socket events have not been processed yet.
  return Promise.race([settled, nextTurn(false)]);
}

/** The result of the work. @throws Error if it takes too long */
export async function inTime<Result>(milliseconds: number, work: Promise<Result>): Promise<Result> {
  if (await settlesWithin(milliseconds, work)) return work;
  throw new Error(`No answer within ${milliseconds} ms`);
}
