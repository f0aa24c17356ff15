import { closeSync, openSync, writeFileSync } from 'node:fs';
import { connect, createServer, type Server } from 'node:net';
import { basename } from 'node:path';

/** Bytes that the path of a socket may have: 108 with its end on Linux, 104 elsewhere. */
const LONGEST_PATH = 100;

/** What a file system says that has no sockets, as some of those do that virtual machines share. */
const UNSUPPORTED = new Set(['EOPNOTSUPP', 'ENOTSUP', 'EPERM', 'EINVAL', 'ENOSYS', 'EACCES']);

/** A process that is gone, or something that is no socket. */
const REFUSED = new Set(['ECONNREFUSED', 'ENOTSOCK', 'ENOENT', ...UNSUPPORTED]);

/** Makes a socket in a directory, and listens; null: there are no sockets here, and a plain file was made instead. */
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

/** Whether a process listens on a socket. The kernel answers for one that is stopped, too. */
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

/** Linux reaches a file below a directory that is open by a short path, however long that of the directory is. */
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
