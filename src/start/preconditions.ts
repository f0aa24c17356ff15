import { type Config, ConfigError, readConfig } from '../config/config.js';
import { ClientsFileError, readClients } from '../identity-provider/clients.js';
import { openSource } from '../sources/open-source.js';

/**
 * Reads the settings and checks the files that they name before anything is opened, so that a mistake is
 * reported at once and no resource has to be closed.
 * @throws ConfigError with every problem found
 */
export function readUsableConfig(): Config {
  const config = readConfig();
  const problems = [
    ...problemsOf(() => openSource(config.directory)),
    ...(config.auth.issuer === null ? problemsOf(() => readClients(config.auth.embeddedClients)) : []),
  ];
  if (problems.length > 0) throw new ConfigError(problems);
  return config;
}

function problemsOf(attempt: () => unknown): readonly string[] {
  try {
    attempt();
    return [];
  } catch (error) {
    if (error instanceof ConfigError || error instanceof ClientsFileError) return error.problems;
    throw error;
  }
}
