/** @isolated The suite fakes the clock. */
import { once } from 'node:events';
import type { ChildProcess } from 'node:child_process';
import { SupervisedProcess } from '../../src/common/supervised-process.js';
import { spawnBound } from '../support/spawn-bound.mjs';

/** Milliseconds after which Kubernetes kills a service that was asked to end, unless it is configured otherwise. */
const GRACE_PERIOD = 30_000;

describe('a process that does not end when it is asked to', () => {
  afterEach(() => {
    jest.useRealTimers();
  });

  it.each<[what: string, script: string]>([
    ['never returns to its event loop', 'process.send("started"); for (;;);'],
    [
      'ignores the request',
      'process.on("SIGTERM", () => {}); setInterval(() => {}, 1000); process.send("started");',
    ],
  ])('because it %s is killed', async (_, script) => {
    const spawned: ChildProcess[] = [];
    const supervised = new SupervisedProcess({
      spawn: () => {
        const child = spawnBound(process.execPath, ['--eval', script], {
          stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
        });
        spawned.push(child);
        return child;
      },
      handlers: {},
      onFault: () => undefined,
    });
    supervised.start();
    const [child] = spawned;
    if (child === undefined) throw new Error('Nothing was started');
    await once(child, 'message');
    jest.useFakeTimers({ doNotFake: ['nextTick', 'queueMicrotask', 'setImmediate', 'performance'] });
    const stopped = supervised.stop(() => undefined);
    jest.advanceTimersByTime(GRACE_PERIOD);
    await stopped;
    expect(child.signalCode).toBe('SIGKILL');
    expect(spawned).toHaveLength(1);
  });
});
