import { createHash } from 'node:crypto';
import { join } from 'node:path';

/** The port in the name of a socket, and the first of those that Windows assigns to programs. */
const SOCKET_PORT = 5432;
const FIRST_PORT = 49_152;
const NUMBER_OF_PORTS = 16_384;

export interface EmbeddedAddress {
  /** The directory of the socket. Windows: the loopback address, because Node.js has no such sockets there. */
  readonly host: string;
  readonly port: number;
  readonly url: string;
}

/** The files of the embedded server. No other user can enter the directory. */
export function dataDirectoryOf(directory: string): string {
  return join(directory, 'postgres');
}

/** Where the embedded server of a directory listens, also for processes that did not start it. */
export function embeddedAddressOf(directory: string): EmbeddedAddress {
  const digest = createHash('sha256').update(directory).digest();
  const isWindows = process.platform === 'win32';
  const port = isWindows ? FIRST_PORT + (digest.readUInt16BE() % NUMBER_OF_PORTS) : SOCKET_PORT;
  const host = isWindows ? '127.0.0.1' : dataDirectoryOf(directory);
  const url = `postgres:///postgres?host=${encodeURIComponent(host)}&port=${port}&user=postgres`;
  return { host, port, url };
}
