import { parseUrl } from '../../common/url.js';
import { DEFAULT_DATABASE, resolveFile } from '../sample-files.js';
import { secret, setting, type ValuesOf } from '../setting.js';
import { integer, list, text } from '../value-kinds.js';
import { embeddedAddressOf } from './embedded-address.js';

const EMBEDDED = 'embedded:';

function isPostgresUrl(value: string): boolean {
  return /^postgres(ql)?:\/\//.test(value) && parseUrl(value) !== null;
}

const replicaUrls = list.refine((items) => items.every(isPostgresUrl), {
  error: 'must be postgres://user:password@host/database, several separated by commas',
});

export const DATABASE_SETTINGS = {
  DATABASE_URL: secret(
    text
      .refine((value) => /^embedded:.+/.test(value) || isPostgresUrl(value), {
        error: 'must be postgres://user:password@host/database or embedded:directory',
      })
      .default(`${EMBEDDED}${DEFAULT_DATABASE}`),
    'Database of the mirror: postgres://user:password@host/database, or embedded:DIRECTORY for a PostgreSQL that the service brings and starts.',
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

export interface DatabaseConfig {
  readonly url: string;
  /** The directory of the embedded server that has the URL. Null: another server. */
  readonly embedded: string | null;
  /** URLs of read replicas. */
  readonly replicaUrls: readonly string[];
  readonly poolSize: number;
  readonly previewPoolSize: number;
  readonly timeoutSeconds: number;
}

export function isEmbedded({ DATABASE_URL }: { readonly DATABASE_URL: string }): boolean {
  return DATABASE_URL.startsWith(EMBEDDED);
}

/** The name of a database for operators, without user information. */
export function nameDatabase({ url, embedded }: Pick<DatabaseConfig, 'url' | 'embedded'>): string {
  if (embedded !== null) return `embedded database in ${embedded}`;
  const { host, pathname } = new URL(url);
  return `database «${pathname.slice(1)}» at ${host === '' ? 'the local socket' : host}`;
}

export function buildDatabase(
  settings: ValuesOf<typeof DATABASE_SETTINGS>,
  previewPoolSize: number,
): DatabaseConfig {
  const embedded = isEmbedded(settings) ? resolveFile(settings.DATABASE_URL.slice(EMBEDDED.length)) : null;
  return {
    url: embedded === null ? settings.DATABASE_URL : embeddedAddressOf(embedded).url,
    embedded,
    replicaUrls: settings.DATABASE_REPLICA_URLS,
    poolSize: settings.DATABASE_POOL_SIZE,
    previewPoolSize,
    timeoutSeconds: settings.DATABASE_TIMEOUT_SECONDS,
  };
}
