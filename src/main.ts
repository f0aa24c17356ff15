import 'reflect-metadata';
import cluster from 'node:cluster';
import { setFlagsFromString } from 'node:v8';
import type { Config } from './config/config.js';
import { endOnFaults, explain, notify, readUsableConfig } from './process.js';

// The old generation of the heap grows by at most 45 percent between collections. By default V8 lets it grow up to four
// times, and a process under load then holds 150 MB without need. The cost of a request did not change measurably.
setFlagsFromString('--heap-growing-percent=45');
endOnFaults();
try {
  const config = cluster.isWorker ? await receiveConfig() : readUsableConfig();
  // The rest takes a second to load: a mistake in the settings is reported before.
  if (config.workers === 1 || cluster.isWorker) await (await import('./serve.js')).serve(config);
  else await new (await import('./cluster.js')).Cluster(config).run();
} catch (error) {
  // Open handles would keep the process alive. This exit is safe: the database continues without this process.
  process.exit(explain(error));
}

/** The answer of the first process: see src/cluster.ts. It may ask for metrics before it answers. */
function receiveConfig(): Promise<Config> {
  return new Promise((resolve) => {
    process.on('message', ({ config }: { config?: Config }) => {
      if (config !== undefined) resolve(config);
    });
    notify('starts');
  });
}
