import { readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { parseEnv } from 'node:util';
import { ConfigError, type Environment } from './config.js';
import { HOME } from './paths.js';

/** The variables of the process, also those that are loaded later. */
const ENVIRONMENT: Environment = process.env;

/** Settings that are paths, beside those whose names end with _FILE. */
const PATHS = ['DIRECTORY_MODEL', 'DIRECTORY_WEBHOOKS', 'TRUSTED_DOCUMENTS', 'AUTH_EMBEDDED_CLIENTS'];

/** The variables that the file has set. */
let loaded: readonly string[] = [];

/**
 * Loads the file of settings: `.env` in HOME, or the file that ENV_FILE names. Variables of the environment take precedence.
 * Each further call reads the file again.
 * @throws ConfigError if the file exists and cannot be read, or if ENV_FILE names none
 */
export function loadEnvironmentFile(): void {
  const file = resolve(ENVIRONMENT['ENV_FILE'] || join(HOME, '.env'));
  const values = Object.entries(parseEnv(readFile(file)));
  unloadEnvironmentFile();
  const absent = values.filter(([name]) => ENVIRONMENT[name] === undefined);
  for (const [name, value = ''] of absent) process.env[name] = withAbsolutePaths(name, value, dirname(file));
  loaded = absent.map(([name]) => name);
}

/** Removes what the file has set, so that processes that this one starts read it themselves. */
export function unloadEnvironmentFile(): void {
  for (const name of loaded) Reflect.deleteProperty(process.env, name);
  loaded = [];
}

function readFile(file: string): string {
  try {
    return readFileSync(file, 'utf8').replace(/^\uFEFF/, '');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' && !ENVIRONMENT['ENV_FILE']) return '';
    const remedy = 'correct ENV_FILE, or run as a user who may read it';
    throw new ConfigError([`The file of settings ${file} cannot be read (${code}): ${remedy}`]);
  }
}

/** Relative paths of the file are relative to its directory, so that a command finds the same from every working directory. */
function withAbsolutePaths(name: string, value: string, directory: string): string {
  if (value === '' || directory === process.cwd()) return value;
  const absolute = (_: string, before: string, path: string) => before + resolve(directory, path);
  if (PATHS.includes(name) || name.endsWith('_FILE')) return resolve(directory, value);
  if (!/_URLS?$/.test(name)) return value;
  return value
    .replace(/^((?:file|embedded):)(?!\/)(.+)/, absolute)
    .replace(/([?&]ssl(?:cert|key|rootcert)=)([^&,]+)/g, absolute);
}
