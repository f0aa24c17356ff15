import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { resolveFile } from '../paths.js';
import type { Settings } from '../settings.js';

const EMBEDDED = 'embedded:';

export function isEmbedded({ DATABASE_URL }: Settings): boolean {
  return DATABASE_URL.startsWith(EMBEDDED);
}

/** The name of a database for operators, without user information. */
export function nameDatabase({
  url,
  embedded,
}: Pick<ReturnType<typeof buildDatabase>, 'url' | 'embedded'>): string {
  if (embedded !== null) return `embedded database in ${embedded}`;
  const { host, pathname } = new URL(url);
  return `database «${pathname.slice(1)}» at ${host === '' ? 'the local socket' : host}`;
}

export function buildDatabase(settings: Settings) {
  const embedded = isEmbedded(settings) ? resolveFile(settings.DATABASE_URL.slice(EMBEDDED.length)) : null;
  return {
    url: embedded === null ? settings.DATABASE_URL : embeddedAddressOf(embedded).url,
    /** The directory of the embedded server that has the URL. Null: another server. */
    embedded,
    readUrl: settings.DATABASE_READ_URL ?? null,
    poolSize: settings.DATABASE_POOL_SIZE,
    previewPoolSize: settings.LIMIT_PREVIEWS,
    timeoutSeconds: settings.DATABASE_TIMEOUT_SECONDS,
  };
}

/** The port in the name of a socket, and the first of those that Windows assigns to programs. */
const SOCKET_PORT = 5432;
const FIRST_PORT = 49_152;
const NUMBER_OF_PORTS = 16_384;

/** The files of the embedded server. No other user can enter the directory. */
export function dataDirectoryOf(directory: string): string {
  return join(directory, 'postgres');
}

/** Where the embedded server of a directory listens, also for processes that did not start it. */
export function embeddedAddressOf(directory: string) {
  const digest = createHash('sha256').update(directory).digest();
  const isWindows = process.platform === 'win32';
  const port = isWindows ? FIRST_PORT + (digest.readUInt16BE() % NUMBER_OF_PORTS) : SOCKET_PORT;
  const host = isWindows ? '127.0.0.1' : dataDirectoryOf(directory);
  const url = `postgres:///postgres?host=${encodeURIComponent(host)}&port=${port}&user=postgres`;
  // Windows has no such sockets in Node.js: the host is the loopback address there, and otherwise the directory of the socket.
  return { host, port, url };
}
