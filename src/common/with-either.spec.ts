import { getEventListeners, getMaxListeners } from 'node:events';
import { withEither } from './with-either.js';

describe('work with two signals', () => {
  const never = (signal: AbortSignal) =>
    new Promise<never>((_, reject) => {
      signal.addEventListener('abort', () => {
        reject(signal.reason as Error);
      });
    });

  it.each([0, 1])('ends with the reason of either: %d', async (index) => {
    const controllers = [new AbortController(), new AbortController()];
    const work = withEither(
      controllers.map(({ signal }) => signal),
      never,
    );
    controllers[index]?.abort(new Error('over'));
    await expect(work).rejects.toThrow('over');
  });

  it('begins with a signal that is aborted already', async () => {
    const isAborted = withEither([AbortSignal.abort()], ({ aborted }) => Promise.resolve(aborted));
    expect(await isAborted).toBe(true);
  });

  it('leaves nothing in a signal that lives longer', async () => {
    const { signal } = new AbortController();
    for (let time = 0; time < 10; time++) await withEither([signal], () => Promise.resolve());
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });

  it('lets any number of calls wait for one signal, without a warning of Node.js', async () => {
    const { signal } = new AbortController();
    expect(await withEither([signal], () => Promise.resolve(getMaxListeners(signal)))).toBe(0);
  });
});
