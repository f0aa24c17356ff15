import { spawnSync } from 'node:child_process';
import { getEventListeners } from 'node:events';
import { join } from 'node:path';
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

  it('lets any number of calls wait for one signal, without a warning of Node.js', () => {
    const script = `
      import { withEither } from ${JSON.stringify(join(__dirname, 'with-either.ts'))};
      const { signal } = new AbortController();
      for (let time = 0; time < 20; time++) void withEither([signal], () => new Promise(() => undefined));`;
    const args = ['--import', '@swc-node/register/esm-register', '--input-type=module', '--eval', script];
    const { status, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
    expect([status, stderr]).toEqual([0, '']);
  });
});
