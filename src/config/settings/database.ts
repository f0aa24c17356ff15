import { join } from 'node:path';
import { resolveFile } from '../paths.js';
import type { Settings } from '../settings.js';

const EMBEDDED = 'embedded:';

export function isEmbedded({ DATABASE_URL }: Settings): boolean {
  return DATABASE_URL.startsWith(EMBEDDED);
}

/** The name of a database for operators, without user information. */
export function nameDatabase({ url, embedded }: { url: string; embedded: string | null }): string {
  if (embedded !== null) return `embedded database in ${embedded}`;
  const { host, pathname } = new URL(url);
  return `database «${pathname.slice(1)}» at ${host === '' ? 'the local socket' : host}`;
}

export function buildDatabase(settings: Settings) {
  const embedded = isEmbedded(settings) ? resolveFile(settings.DATABASE_URL.slice(EMBEDDED.length)) : null;
  return {
    url: embedded === null ? settings.DATABASE_URL : embeddedUrlOf(embedded),
    /** The directory of the embedded server that has the URL. Null: another server. */
    embedded,
    readUrl: settings.DATABASE_READ_URL ?? null,
    poolSize: settings.DATABASE_POOL_SIZE,
    previewPoolSize: settings.LIMIT_PREVIEWS,
    timeoutSeconds: settings.DATABASE_TIMEOUT_SECONDS,
  };
}

/** The files of the embedded server. No other user can enter the directory. */
export function dataDirectoryOf(directory: string): string {
  return join(directory, 'postgres');
}

/** The socket of the embedded server of a directory, also for processes that did not start it. */
export function embeddedUrlOf(directory: string): string {
  return `postgres:///postgres?host=${encodeURIComponent(dataDirectoryOf(directory))}&port=5432&user=postgres`;
}
