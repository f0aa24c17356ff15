import { existsSync } from 'node:fs';

/** Takes settings from a file `.env` in the working directory, where there is one; the environment comes first. */
export function loadEnvironmentFile(): void {
  if (existsSync('.env')) process.loadEnvFile('.env');
}
