import { setImmediate } from 'node:timers/promises';
import { Turnstile } from './turnstile.js';

describe('a turnstile', () => {
  it('lets so many run at a time, and the others in their order', async () => {
    const turnstile = new Turnstile(2, 10);
    let running = 0;
    const seen: number[] = [];
    const order: number[] = [];
    await Promise.all(
      [0, 1, 2, 3, 4, 5].map((number) =>
        turnstile.pass(async () => {
          seen.push((running += 1));
          order.push(number);
          await setImmediate();
          running -= 1;
        }),
      ),
    );
    expect(Math.max(...seen)).toBe(2);
    expect(order).toEqual([0, 1, 2, 3, 4, 5]);
  });

  it('sends away whoever finds the queue full, and frees the place of who fails', async () => {
    const turnstile = new Turnstile(1, 1);
    const first = turnstile.pass(async () => {
      await setImmediate();
      throw new Error('failed');
    });
    const second = turnstile.pass(() => Promise.resolve('second'));
    await expect(turnstile.pass(() => Promise.resolve('third'))).rejects.toMatchObject({
      code: 'SERVICE_UNAVAILABLE',
    });
    await expect(first).rejects.toThrow('failed');
    expect(await second).toBe('second');
    expect(await turnstile.pass(() => Promise.resolve('fourth'))).toBe('fourth');
  });
});
