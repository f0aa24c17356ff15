import { type Config, configProblems, readConfig } from './config/config.js';
import { readClients } from './identity-provider/clients.js';

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
