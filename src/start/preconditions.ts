import { type Config, ConfigError, readConfig } from '../config/config.js';
import { readClients } from '../identity-provider/clients.js';

/**
 * Reads the settings and checks the files that they name, before anything is opened.
 * @throws ConfigError with every problem found
 */
export function readUsableConfig(): Config {
  return readConfig(undefined, ({ auth, scopes }) =>
    auth.issuer === null ? configProblems(() => readClients(auth.embeddedClients, scopes)) : [],
  );
}

/** Returns the problems of a ConfigError that the attempt throws. */
export function configProblems(attempt: () => unknown): readonly string[] {
  try {
    attempt();
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
}
