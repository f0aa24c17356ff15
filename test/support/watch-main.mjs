// Sends counts of the work of a service since the last message to the parent process.
import 'reflect-metadata';
import diagnosticsChannel from 'node:diagnostics_channel';
import { setImmediate } from 'node:timers';
import v8 from 'node:v8';
import vm from 'node:vm';
import { pathToFileURL } from 'node:url';

/** See bundle-service.mjs. */
const OPERATIONS = process.argv[1].endsWith('/bundled/main.js')
  ? './operations.js'
  : './graphql/execution/operations.js';
const { Executor } = await import(new URL(OPERATIONS, pathToFileURL(process.argv[1])));

let operations = 0;
let statements = 0;

v8.setFlagsFromString('--expose-gc');
const collectGarbage = vm.runInNewContext('gc');

// graphql-js calls every resolver through this function.
const { execute } = Executor.prototype;
Executor.prototype.execute = function (...rest) {
  operations++;
  return execute.apply(this, rest);
};

diagnosticsChannel.subscribe('tracing:directory:statement:start', ({ text }) => {
  // Statements of authentication are not part of an operation.
  if (!/\bservice_account/.test(text)) statements++;
});

const ACTIONS = {
  collectWork() {
    process.send({ operations, statements });
    operations = 0;
    statements = 0;
  },

  /** The remaining memory is referenced. */
  collect() {
    // The second collection frees objects that only weak references kept.
    for (let time = 0; time < 2; time++) collectGarbage();
    const { heapUsed, external } = process.memoryUsage();
    process.send({ megabytes: (heapUsed + external) / 1e6 });
  },

  /** Ends the process like a fault of the program, by an uncaught error with these details. */
  crash(details) {
    setImmediate(() => {
      throw Object.assign(new Error('The program is at fault'), details);
    });
  },
};

process.on('message', ({ action, details }) => ACTIONS[action](details));
// A promise without a handler.
process.channel.unref();
