import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';

/** Milliseconds of one look. */
const STEP = 50;

/**
 * Whether something comes to an end within a time. It is waited for in small steps, and a process that is busy itself makes
 * one of them long and not many: what arrived meanwhile counts as having come in time.
 */
export async function settlesWithin(milliseconds: number, work: Promise<unknown>): Promise<boolean> {
  const settled = new AbortController();
  const settle = () => {
    settled.abort();
  };
  work.then(settle, settle);
  for (let left = milliseconds; left > 0 && !settled.signal.aborted; left -= STEP) {
    await sleep(Math.min(STEP, left), undefined, { signal: settled.signal }).catch(() => undefined);
  }
  // After the last step the sockets have not been looked at yet.
  if (!settled.signal.aborted) await nextTurn();
  return settled.signal.aborted;
}
