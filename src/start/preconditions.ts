import { type Config, ConfigError, readConfig } from '../config/config.js';
import { readClients } from '../identity-provider/clients.js';
import { openSource } from '../sources/open-source.js';

/**
 * Reads the settings and checks the files that they name, before anything is opened.
 * @throws ConfigError with every problem found
 */
export function readUsableConfig(): Config {
  const config = readConfig();
  const problems = [
    ...configProblems(() => openSource(config.directory)),
    ...(config.auth.issuer === null ? configProblems(() => readClients(config.auth.embeddedClients)) : []),
  ];
  if (problems.length > 0) throw new ConfigError(problems);
  return config;
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
