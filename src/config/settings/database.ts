import { parseUrl } from '../../common/url.js';
import { DEFAULT_DATABASE, resolveFile } from '../sample-files.js';
import { secret, setting, type ValuesOf } from '../setting.js';
import { integer, list, text } from '../value-kinds.js';

function isPostgresUrl(value: string): boolean {
  return /^postgres(ql)?:\/\//.test(value) && parseUrl(value) !== null;
}

const replicaUrls = list.refine((items) => items.every(isPostgresUrl), {
  error: 'must be postgres://user:password@host/database, several separated by commas',
});

export const DATABASE_SETTINGS = {
  DATABASE_URL: secret(
    text
      .refine((value) => /^pglite:.+/.test(value) || isPostgresUrl(value), {
        error: 'must be postgres://user:password@host/database or pglite:directory',
      })
      .default(`pglite:${DEFAULT_DATABASE}`),
    'Database of the mirror: postgres://user:password@host/database, or pglite:DIRECTORY for the embedded one.',
  ),
  DATABASE_REPLICA_URLS: secret(
    replicaUrls.default([]),
    'Read replicas of DATABASE_URL, comma-separated. Most queries are read from them.',
  ),
  DATABASE_POOL_SIZE: setting(
    integer(1, 200, 10),
    'Maximum number of connections to PostgreSQL, and to each replica, for requests. Workers share them.',
  ),
  DATABASE_TIMEOUT_SECONDS: setting(
    integer(1, 600, 5),
    'Maximum duration of a statement of a request. The wait for a connection may take two fifths of it, and a preview twice as long. A shutdown waits 10 seconds for open requests.',
  ),
};

export type DatabaseConfig =
  | { readonly kind: 'pglite'; readonly directory: string; readonly timeoutSeconds: number }
  | {
      readonly kind: 'postgres';
      readonly url: string;
      /** URLs of read replicas. */
      readonly replicaUrls: readonly string[];
      readonly poolSize: number;
      readonly previewPoolSize: number;
      readonly timeoutSeconds: number;
    };

/** The name of a database for operators, without user information. */
export function nameDatabase(database: DatabaseConfig): string {
  if (database.kind === 'pglite') return `embedded database in ${database.directory}`;
  const { host, pathname } = new URL(database.url);
  return `database «${pathname.slice(1)}» at ${host === '' ? 'the local socket' : host}`;
}

export function buildDatabase(
  settings: ValuesOf<typeof DATABASE_SETTINGS>,
  previewPoolSize: number,
): DatabaseConfig {
  const timeoutSeconds = settings.DATABASE_TIMEOUT_SECONDS;
  if (settings.DATABASE_URL.startsWith('pglite:')) {
    const directory = resolveFile(settings.DATABASE_URL.slice('pglite:'.length));
    return { kind: 'pglite', directory, timeoutSeconds };
  }
  return {
    kind: 'postgres',
    url: settings.DATABASE_URL,
    replicaUrls: settings.DATABASE_REPLICA_URLS,
    poolSize: settings.DATABASE_POOL_SIZE,
    previewPoolSize,
    timeoutSeconds,
  };
}
