import { existsSync } from 'node:fs';

/** Loads `.env` of the working directory, if it exists. Variables of the environment take precedence. */
export function loadEnvironmentFile(): void {
  if (existsSync('.env')) process.loadEnvFile('.env');
}

/** The variables of the process, also those that are loaded later. */
export const ENVIRONMENT: Readonly<Record<string, string | undefined>> = process.env;
