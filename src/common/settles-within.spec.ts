import { pbkdf2 } from 'node:crypto';
import { promisify } from 'node:util';
import { settlesWithin } from './settles-within.js';

/** Runs on a thread of its own. Its completion is noticed only when the event loop is free. */
const work = () => promisify(pbkdf2)('', '', 1, 16, 'sha256');

/** Blocks this thread. */
function block(milliseconds: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds);
}

describe('a timeout', () => {
  it('ends if there is no result', async () => {
    const begun = performance.now();
    expect(await settlesWithin(100, new Promise(() => undefined))).toBe(false);
    expect(performance.now() - begun).toBeGreaterThanOrEqual(90);
  });

  it('ends with the result or the error', async () => {
    // Longer than the time limit of a test: waiting for all of it would fail.
    const days = 10 * 86_400_000;
    expect(await settlesWithin(days, work())).toBe(true);
    expect(await settlesWithin(days, Promise.reject(new Error('No')))).toBe(true);
  });

  it.each([50, 120])(
    'of %i milliseconds does not include the time of a blocked event loop',
    async (milliseconds) => {
      const settles = settlesWithin(milliseconds, work());
      block(300);
      expect(await settles).toBe(true);
    },
  );
});
