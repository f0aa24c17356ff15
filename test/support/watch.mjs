// Loaded before a service (node --import): tells whoever started it what the process has been doing since it last told.
import 'reflect-metadata';
import diagnosticsChannel from 'node:diagnostics_channel';
import { Session } from 'node:inspector/promises';
import { performance } from 'node:perf_hooks';
import { setImmediate } from 'node:timers';
import v8 from 'node:v8';
import vm from 'node:vm';
import { Executor } from '../../dist/graphql/execution/operations.js';

let operations = 0;
let statements = 0;
let session;
const DIST = new URL('../../dist/', import.meta.url).href;

v8.setFlagsFromString('--expose-gc');
const collectGarbage = vm.runInNewContext('gc');

// Whatever resolves a field is called by it.
const { execute } = Executor.prototype;
Executor.prototype.execute = function (...rest) {
  operations++;
  return execute.apply(this, rest);
};

diagnosticsChannel.subscribe('directory:statement', ({ text }) => {
  // Those that tell who is asking are no part of an operation.
  if (!/\bservice_account/.test(text)) statements++;
});

const ACTIONS = {
  look() {
    process.send({ operations, statements });
    operations = 0;
    statements = 0;
  },

  /** What is left in memory is held by something. */
  collect() {
    // What is only known weakly goes with the second.
    for (let time = 0; time < 2; time++) collectGarbage();
    const { heapUsed, external } = process.memoryUsage();
    process.send({ megabytes: (heapUsed + external) / 1e6 });
  },

  /** Begins to count the files of dist/ that are executed. */
  async startCoverage() {
    session ??= new Session();
    session.connect();
    await session.post('Profiler.enable');
    await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
    process.send({ started: true });
  },

  /** The files of dist/ of which a function was called since then. */
  async takeCoverage() {
    const { result } = await session.post('Profiler.takePreciseCoverage');
    await session.post('Profiler.stopPreciseCoverage');
    session.disconnect();
    const called = result.filter(({ functions }) =>
      functions.some(({ functionName, ranges }) => functionName !== '' && ranges[0].count > 0),
    );
    process.send({
      files: called
        .filter(({ url }) => url.startsWith(DIST))
        .map(({ url }) => url.slice(DIST.length, -'.js'.length))
        .sort(),
    });
  },

  /** Lets nothing else happen for so many milliseconds. */
  hold({ milliseconds }) {
    const end = performance.now() + milliseconds;
    while (performance.now() < end);
    process.send({ held: true });
  },

  /** Ends as a fault of the program ends a process, with an error that has everything in it. */
  crash(details) {
    setImmediate(() => {
      throw Object.assign(new Error('The program is at fault'), details);
    });
  },

  /** As above, where nobody waits for what has failed. */
  reject(details) {
    void Promise.reject(Object.assign(new Error('The program is at fault'), details));
  },
};

process.on('message', ({ action, details }) => ACTIONS[action](details));
// Nobody listens to it for ever.
process.channel.unref();
