import { parseUrl } from '../../common/url.js';
import { DEFAULT_DATABASE, resolveFile } from '../sample-files.js';
import { secret, setting, type ValuesOf } from '../setting.js';
import { integer, text } from '../value-kinds.js';
import { embeddedAddressOf } from './embedded-address.js';

const EMBEDDED = 'embedded:';

function isPostgresUrl(value: string): boolean {
  return /^postgres(ql)?:\/\//.test(value) && parseUrl(value) !== null;
}

export const DATABASE_SETTINGS = {
  DATABASE_URL: secret(
    text
      .refine((value) => /^embedded:.+/.test(value) || isPostgresUrl(value), {
        error: 'must be postgres://user:password@host/database or embedded:directory',
      })
      .default(`${EMBEDDED}${DEFAULT_DATABASE}`),
    'Database of the mirror: postgres://user:password@host/database, or embedded:DIRECTORY for a PostgreSQL that the service brings and starts.',
  ),
  DATABASE_READ_URL: secret(
    text.refine(isPostgresUrl, { error: 'must be postgres://user:password@host/database' }).optional(),
    'Reader endpoint of DATABASE_URL: a standby, or a balancer in front of several. Most queries are read from it.',
  ),
  DATABASE_POOL_SIZE: setting(
    integer(1, 200, 10),
    'Maximum number of connections to PostgreSQL, and to DATABASE_READ_URL, for requests. Workers share them.',
  ),
  DATABASE_TIMEOUT_SECONDS: setting(
    integer(1, 600, 3),
    'Maximum duration of a statement of a request. The wait for a connection may take two fifths of it, and a preview twice as long. A shutdown waits 10 seconds for open requests.',
  ),
};

export interface DatabaseConfig {
  readonly url: string;
  /** The directory of the embedded server that has the URL. Null: another server. */
  readonly embedded: string | null;
  readonly readUrl: string | null;
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
    readUrl: settings.DATABASE_READ_URL ?? null,
    poolSize: settings.DATABASE_POOL_SIZE,
    previewPoolSize,
    timeoutSeconds: settings.DATABASE_TIMEOUT_SECONDS,
  };
}
