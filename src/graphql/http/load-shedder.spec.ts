import { setTimeout as sleep } from 'node:timers/promises';
import { ServiceUnavailableError } from '../../common/errors.js';
import { LoadShedder } from './load-shedder.js';

/** Keeps the event loop busy. */
function block(milliseconds: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds);
}

it('rejects requests while the event loop is late, and none before and after', async () => {
  const shedder = new LoadShedder();
  const admits = () => {
    try {
      shedder.admit();
      return true;
    } catch (error) {
      expect(error).toBeInstanceOf(ServiceUnavailableError);
      return false;
    }
  };
  expect(admits()).toBe(true);
  while (admits()) {
    block(1500);
    await sleep(1);
  }
  expect(shedder.rejected).toBe(1);
  while (!admits()) await sleep(100);
});
