import { once } from 'node:events';
import { closeSync, openSync, writeFileSync } from 'node:fs';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { basename } from 'node:path';

/** Maximum length of a socket path in bytes: 108 with the terminator on Linux, 104 elsewhere. */
const LONGEST_PATH = 100;

/** Error codes of file systems without sockets, such as some that virtual machines share. */
const UNSUPPORTED = new Set(['EOPNOTSUPP', 'ENOTSUP', 'EPERM', 'EINVAL', 'ENOSYS', 'EACCES']);

/** The process has ended, or the path is not a socket. */
const REFUSED = new Set(['ECONNREFUSED', 'ENOTSOCK', 'ENOENT', ...UNSUPPORTED]);

/** Listens on a new socket. Null if the file system has none: then a plain file takes its place. */
export async function listenAt(directory: string, path: string): Promise<Server | null> {
  const server = createServer((socket) => socket.destroy()).unref();
  try {
    await listenIn(directory, path, server);
    return server;
  } catch (error) {
    if (!UNSUPPORTED.has((error as NodeJS.ErrnoException).code ?? '')) throw error;
    writeFileSync(path, '', { flag: 'wx', mode: 0o600 });
    return null;
  }
}

/** @throws the error of the system, such as EADDRINUSE */
export function listenIn(directory: string, path: string, server: Server): Promise<void> {
  return within(directory, path, async (reachable) => {
    await once(server.listen(reachable), 'listening');
  });
}

/** @throws the error of the system, such as ECONNREFUSED */
export function connectIn(directory: string, path: string): Promise<Socket> {
  return within(directory, path, async (reachable) => {
    const socket = connect(reachable);
    await once(socket, 'connect');
    return socket;
  });
}

/** Whether a process listens on a socket. The kernel also accepts connections for a stopped process. */
export async function answers(directory: string, path: string): Promise<boolean> {
  try {
    (await connectIn(directory, path)).destroy();
    return true;
  } catch (error) {
    return !REFUSED.has((error as NodeJS.ErrnoException).code ?? '');
  }
}

/** Passes a path that fits a socket address. On Linux, an open directory makes any path short. */
async function within<Result>(
  directory: string,
  path: string,
  use: (reachable: string) => Promise<Result>,
): Promise<Result> {
  if (Buffer.byteLength(path) <= LONGEST_PATH || process.platform !== 'linux') return use(path);
  const descriptor = openSync(directory, 'r');
  try {
    return await use(`/proc/self/fd/${descriptor}/${basename(path)}`);
  } finally {
    closeSync(descriptor);
  }
}
