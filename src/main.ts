import 'reflect-metadata';
import cluster from 'node:cluster';
import { setFlagsFromString } from 'node:v8';
import { endOnFaults, explain, readUsableConfig } from './process.js';

// By default V8 lets the old generation of the heap grow up to four times between collections: a process under load holds 150 MB
// without need. It also allocates the rows of statements there, and keeps all that they refer to (docs/adr/0004).
setFlagsFromString('--heap-growing-percent=45 --no-allocation-site-pretenuring');
endOnFaults();
try {
  const config = readUsableConfig();
  // The rest takes a second to load: a mistake in the settings is reported before.
  if (config.workers === 1 || cluster.isWorker) await (await import('./serve.js')).serve(config);
  else await new (await import('./cluster.js')).Cluster(config).run();
} catch (error) {
  // Open handles would keep the process alive. This exit is safe: the database continues without this process.
  process.exit(explain(error));
}
