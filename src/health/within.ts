import { setTimeout as sleep } from 'node:timers/promises';

/**
 * @param milliseconds how long to wait
 * @throws Error when it takes longer
 */
export async function within<Value>(milliseconds: number, work: Promise<Value>): Promise<Value> {
  const waiting = new AbortController();
  const tooLate = sleep(milliseconds, undefined, { signal: waiting.signal }).then(() => {
    throw new Error(`No answer within ${milliseconds} ms`);
  });
  // The one that loses is not waited for, and must not go unhandled.
  tooLate.catch(() => undefined);
  work.catch(() => undefined);
  try {
    return await Promise.race([work, tooLate]);
  } finally {
    waiting.abort();
  }
}
