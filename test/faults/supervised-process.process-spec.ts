/** @isolated The suite fakes the clock. */
import cluster from 'node:cluster';
import { once } from 'node:events';
import type { ChildProcess } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { SupervisedProcess } from '../../src/common/supervised-process.js';
import { readConfig } from '../../src/config/config.js';
import { WorkerProcess } from '../../src/start/worker-process.js';
import { variable } from '../support/servers/store.js';
import { spawnBound } from '../support/spawn-bound.mjs';

/** Milliseconds after which Kubernetes kills a service that was asked to end, unless it is configured otherwise. */
const GRACE_PERIOD = 30_000;

/** A process that can send messages to this one. */
function spawnScript(script: string): ChildProcess {
  return spawnBound(process.execPath, ['--eval', script], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
}

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
        const child = spawnScript(script);
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

describe('a process that answered before', () => {
  const PING = 10_000;
  const script = `
    process.on('message', ({ id, kind }) => process.send({ type: 'reply', id, kind, value: null }));
    process.send('started');`;

  afterEach(() => {
    jest.useRealTimers();
  });

  it('is killed when it no longer does, and starts again', async () => {
    const spawned: ChildProcess[] = [];
    const reasons: string[] = [];
    const supervised = new SupervisedProcess({
      spawn: () => {
        const child = spawnScript(script);
        spawned.push(child);
        return child;
      },
      handlers: {},
      onFault: (reason) => reasons.push(reason),
    });
    jest.useFakeTimers({ doNotFake: ['nextTick', 'queueMicrotask', 'setImmediate', 'performance'] });
    supervised.start();
    const [child] = spawned;
    if (child?.pid === undefined) throw new Error('Nothing was started');
    await once(child, 'message');
    for (let time = 0; time < 6; time++) {
      const answered = once(child, 'message');
      jest.advanceTimersByTime(PING);
      await answered;
    }
    expect(child.exitCode ?? child.signalCode).toBeNull();

    process.kill(child.pid, 'SIGSTOP');
    const closed = once(child, 'close');
    for (let time = 0; time < 4; time++) jest.advanceTimersByTime(PING);
    await closed;
    expect(reasons).toEqual(['it did not answer']);
    jest.advanceTimersByTime(1);
    expect(spawned).toHaveLength(2);
    jest.useRealTimers();
    await supervised.stop();
  });
});

describe('a process that serves requests', () => {
  it('ends at once while it loads its modules, and receives no messages', async () => {
    const entry = join(mkdtempSync(join(variable('TEST_WORK_DIRECTORY'), 'loading-')), 'worker.mjs');
    writeFileSync(entry, 'setInterval(() => undefined, 1000);');
    const exited = once(cluster, 'exit');
    const online = once(cluster, 'online');
    const worker = new WorkerProcess({
      entry: pathToFileURL(entry),
      args: [],
      config: readConfig({}),
      handlers: {},
      onEnd: () => undefined,
      onFault: () => undefined,
    });
    await online;
    await worker.stop({ signal: 'SIGTERM', isReplaced: false });
    const [, , signal] = (await exited) as [unknown, unknown, string];
    expect(signal).toBe('SIGTERM');
  });
});
