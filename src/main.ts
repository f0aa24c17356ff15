import 'reflect-metadata';
import cluster from 'node:cluster';
import { setFlagsFromString } from 'node:v8';
import { deepFreeze } from './common/deep-freeze.js';
import type { Config } from './config/config.js';
import { loadEnvironmentFile } from './config/environment-file.js';
import { endOnFaults, explain } from './failure.js';
import { notify, readUsableConfig } from './processes.js';
import { run } from './run.js';

// The old generation of the heap grows by at most 45 percent between collections. By default V8 lets it grow up to four
// times, and a process under load then holds 150 MB without need. The cost of a request did not change measurably.
setFlagsFromString('--heap-growing-percent=45');
endOnFaults();
// A shell and npm take the process for interrupted only if the signal itself ends it. They see 130, and npm reports no error.
if (cluster.isPrimary)
  process.once('SIGINT', () =>
    process.once('exit', () => {
      process.removeAllListeners('SIGINT');
      process.kill(process.pid, 'SIGINT');
    }),
  );
try {
  await run(cluster.isWorker ? await receiveConfig() : readOwnConfig());
} catch (error) {
  // Open handles would keep the process alive. This exit is safe: the database continues without this process.
  process.exit(explain(error));
}

function readOwnConfig(): Config {
  loadEnvironmentFile();
  return readUsableConfig();
}

/** The answer of the first process: see src/cluster.ts. It may ask for metrics before it answers. */
function receiveConfig(): Promise<Config> {
  return new Promise((resolve) => {
    process.on('message', ({ config }: { config?: Config }) => {
      if (config !== undefined) resolve(deepFreeze(config));
    });
    notify('starts');
  });
}
