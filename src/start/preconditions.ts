import { isDeepStrictEqual } from 'node:util';
import { type Config, ConfigError, readConfig, readValues } from '../config/config.js';
import { loadEnvironmentFile } from '../config/environment-file.js';
import type { Settings } from '../config/settings.js';
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

/** The settings of a service that runs. */
export interface SettingsInUse {
  readonly config: Config;
  readonly values: Settings;
}

/**
 * Reads the settings again: the file of settings, and the files that they name.
 * @returns also the names of the settings that have changed
 * @throws ConfigError with every problem found
 */
export function readSettingsAgain(
  before: SettingsInUse,
): SettingsInUse & { readonly changed: readonly string[] } {
  loadEnvironmentFile();
  const config = readUsableConfig();
  const values = readValues();
  const contents = ({ modelText, webhooks }: Config) => ({
    DIRECTORY_MODEL: modelText,
    DIRECTORY_WEBHOOKS: webhooks,
  });
  const [now, then] = [
    { ...values, ...contents(config) },
    { ...before.values, ...contents(before.config) },
  ];
  const names = Object.keys(now) as (keyof typeof now)[];
  return { config, values, changed: names.filter((name) => !isDeepStrictEqual(now[name], then[name])) };
}

/** Whether SIGHUP means that the terminal was closed, and nothing reads the output any more. */
export function isInTerminal(): boolean {
  return process.stdout.isTTY || process.stderr.isTTY;
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
