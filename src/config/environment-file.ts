import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseEnv } from 'node:util';
import { ConfigError } from './config.js';

/** The variables of the process, also those that are loaded later. */
export const ENVIRONMENT: Readonly<Record<string, string | undefined>> = process.env;

const BESIDE_PROGRAM = fileURLToPath(new URL('../../.env', import.meta.url));

/** Variables that Node.js, OpenSSL or the loader read when a process starts: `.env` is loaded too late for them. */
const OF_START = [
  ...['NODE_EXTRA_CA_CERTS', 'NODE_USE_SYSTEM_CA', 'SSL_CERT_FILE', 'SSL_CERT_DIR', 'OPENSSL_CONF'],
  ...[
    'NODE_OPTIONS',
    'NODE_PATH',
    'NODE_DEBUG',
    'NODE_ICU_DATA',
    'NODE_PENDING_DEPRECATION',
    'NODE_NO_WARNINGS',
  ],
  ...[
    'NODE_COMPILE_CACHE',
    'NODE_USE_ENV_PROXY',
    'NODE_V8_COVERAGE',
    'UV_THREADPOOL_SIZE',
    'MALLOC_ARENA_MAX',
  ],
  ...['LD_PRELOAD', 'LD_LIBRARY_PATH'],
];
const OF_TRUST = OF_START.slice(0, 4);

/** Settings that are paths, beside those whose names end with _FILE. */
const PATHS = ['DIRECTORY_MODEL', 'DIRECTORY_WEBHOOKS', 'TRUSTED_DOCUMENTS', 'AUTH_EMBEDDED_CLIENTS'];

/** The variables that the file has set. */
let loaded: readonly string[] = [];

/**
 * Loads the file of settings: `.env` beside the program, or the file that ENV_FILE names. Variables of the environment take
 * precedence. Each further call reads the file again.
 * @throws ConfigError if the file exists and cannot be read, or if ENV_FILE names none
 */
export function loadEnvironmentFile(): void {
  const file = resolve(ENVIRONMENT['ENV_FILE'] || BESIDE_PROGRAM);
  const values = Object.entries(parseEnv(readFile(file)));
  for (const name of loaded) Reflect.deleteProperty(process.env, name);
  const absent = values.filter(([name]) => ENVIRONMENT[name] === undefined);
  for (const [name, value = ''] of absent) process.env[name] = withAbsolutePaths(name, value, dirname(file));
  loaded = absent.map(([name]) => name);
}

/** A warning for each variable of `.env` that Node.js has not seen. */
export function findTooLate(): string[] {
  return OF_START.filter((name) => loaded.includes(name) && ENVIRONMENT[name] !== '').map((name) => {
    const instead = OF_TRUST.includes(name)
      ? ', or AUTH_CA_FILE, DIRECTORY_CA_FILE or REDIS_CA_FILE here'
      : '';
    return `${name} in .env has no effect: Node.js reads it before it reads this file. Set it in the environment of the service${instead}`;
  });
}

function readFile(file: string): string {
  try {
    return readFileSync(file, 'utf8').replace(/^\uFEFF/, '');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const isNamed = Boolean(ENVIRONMENT['ENV_FILE']);
    if (code === 'ENOENT' && !isNamed) return '';
    const remedy =
      code === 'EACCES' || code === 'EPERM'
        ? 'run the command as the user of the service, or as root'
        : `${isNamed ? 'correct ENV_FILE, or ' : ''}make it a file of lines NAME=value`;
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
