import cluster from 'node:cluster';
import type { Config } from './config/config.js';

/** Serves requests: in this process, or in several that it starts. */
export async function run(config: Config): Promise<void> {
  // The rest takes a second to load: a mistake in the settings is reported before.
  if (config.workers === 1 || cluster.isWorker) await (await import('./serve.js')).serve(config);
  else await new (await import('./cluster.js')).Cluster(config).run();
}
