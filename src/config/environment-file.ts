import { existsSync } from 'node:fs';

/**
 * Loads settings from the file `.env` in the working directory, if it exists. Variables of the environment
 * take precedence.
 */
export function loadEnvironmentFile(): void {
  if (existsSync('.env')) process.loadEnvFile('.env');
}
