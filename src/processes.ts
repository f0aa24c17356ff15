import cluster from 'node:cluster';
import { type Config, configProblems, readConfig } from './config/config.js';
import { readClients } from './identity-provider/clients.js';

/** Serves requests: in this process, or in several that it starts. */
export async function run(config: Config): Promise<void> {
  // The rest takes a second to load: a mistake in the settings is reported before.
  if (config.workers === 1 || cluster.isWorker) await (await import('./serve.js')).serve(config);
  else await new (await import('./cluster.js')).Cluster(config).run();
}

/**
 * Reads the settings and checks the files that they name, before anything is opened.
 * @throws ConfigError with every problem found
 */
export function readUsableConfig(): Config {
  return readConfig(undefined, ({ auth, scopes }) =>
    auth.issuer === null ? configProblems(() => readClients(auth.embeddedClients, scopes)) : [],
  );
}

/** Whether SIGHUP means that the terminal was closed, and nothing reads the output any more. */
export function isInTerminal(): boolean {
  return process.stdout.isTTY || process.stderr.isTTY;
}

/** A message of a process of a cluster to the first one: it needs its configuration, serves, or all have to start again. */
export type Notice = 'starts' | 'serves' | 'reload';

export function notify(notice: Notice): void {
  // Without the first process, this one is about to end.
  process.send?.(notice, undefined, undefined, () => undefined);
}
