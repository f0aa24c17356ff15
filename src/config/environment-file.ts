import { existsSync } from 'node:fs';

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
let tooLate: readonly string[] = [];

/** Loads `.env` of the working directory, if it exists. Variables of the environment take precedence. */
export function loadEnvironmentFile(): void {
  const before = new Set(Object.keys(process.env));
  if (existsSync('.env')) process.loadEnvFile('.env');
  tooLate = OF_START.filter((name) => !before.has(name) && (process.env[name] ?? '') !== '');
}

/** A warning for each variable of `.env` that Node.js has not seen. */
export function findTooLate(): string[] {
  return tooLate.map((name) => {
    const instead = OF_TRUST.includes(name)
      ? ', or AUTH_CA_FILE, DIRECTORY_CA_FILE or REDIS_CA_FILE here'
      : '';
    return `${name} in .env has no effect: Node.js reads it before it reads this file. Set it in the environment of the service${instead}`;
  });
}

/** The variables of the process, also those that are loaded later. */
export const ENVIRONMENT: Readonly<Record<string, string | undefined>> = process.env;
