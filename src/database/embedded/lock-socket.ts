import { closeSync, openSync, writeFileSync } from 'node:fs';
import { connect, createServer, type Server } from 'node:net';
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
    await within(directory, path, (reachable) => {
      return new Promise<void>((resolve, reject) => {
        server.once('error', reject).listen(reachable, resolve);
      });
    });
    return server;
  } catch (error) {
    if (!UNSUPPORTED.has((error as NodeJS.ErrnoException).code ?? '')) throw error;
    writeFileSync(path, '', { flag: 'wx', mode: 0o600 });
    return null;
  }
}

/** Whether a process listens on a socket. The kernel also accepts connections for a stopped process. */
export function answers(directory: string, path: string): Promise<boolean> {
  return within(directory, path, (reachable) => {
    return new Promise<boolean>((resolve) => {
      const socket = connect(reachable, () => {
        socket.destroy();
        resolve(true);
      });
      socket.once('error', ({ code = '' }: NodeJS.ErrnoException) => {
        resolve(!REFUSED.has(code));
      });
    });
  });
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
