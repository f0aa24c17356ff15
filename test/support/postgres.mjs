// A PostgreSQL of the tests' own: a throw-away cluster on a Unix socket and a free port of the loopback interface.
import { execFile, execFileSync, spawn } from 'node:child_process';
import { chownSync, mkdirSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import pg from 'pg';
import { findPostgres } from './system-packages.mjs';

const execute = promisify(execFile);

/** PostgreSQL refuses to run as root: then it runs as the user that its package made. */
const isRoot = process.getuid?.() === 0;
const asUser = (command, args) =>
  isRoot ? ['runuser', ['-u', 'postgres', '--', command, ...args]] : [command, args];

/**
 * @param {string} directory where the cluster is made; removing it afterwards is the caller's
 * @param {Record<string, string | number>} more settings beside, or instead of, those of the tests
 */
export async function startPostgres(directory, more = {}) {
  const programs = findPostgres();
  if (programs === null) throw new Error('PostgreSQL is not installed: npm test installs it first');
  mkdirSync(directory, { recursive: true });
  if (isRoot) {
    const id = (flag) => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }));
    chownSync(directory, id('-u'), id('-g'));
  }
  const data = join(directory, 'data');
  const port = await findFreePort();
  await execute(
    ...asUser(join(programs, 'initdb'), [
      '-D',
      data,
      '-U',
      'postgres',
      '-A',
      'trust',
      '-E',
      'UTF8',
      '--locale=C.UTF-8',
      '-N',
    ]),
  );
  const settings = {
    port,
    listen_addresses: '127.0.0.1',
    unix_socket_directories: directory,
    // Nothing here has to survive the machine.
    fsync: 'off',
    synchronous_commit: 'off',
    full_page_writes: 'off',
    max_connections: 200,
    shared_buffers: '256MB',
    ...more,
  };
  const options = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const server = spawn(...asUser(join(programs, 'postgres'), ['-D', data, ...options]), { stdio: 'ignore' });
  // It may end before it is told to: whoever presses Ctrl-C stops it too.
  const ended = new Promise((resolve) => server.once('exit', resolve));
  const url = (database) => `postgres://postgres@127.0.0.1:${port}/${database}`;
  await untilReady(url('postgres'));
  return {
    url,
    port,
    async stop() {
      await execute(...asUser(join(programs, 'pg_ctl'), ['-D', data, '-m', 'immediate', 'stop'])).catch(
        () => undefined,
      );
      await ended;
    },
  };
}

async function untilReady(url) {
  for (let attempt = 0; ; attempt++) {
    const client = new pg.Client(url);
    try {
      await client.connect();
      return;
    } catch (error) {
      if (attempt === 100) throw error;
      await sleep(100);
    } finally {
      await client.end().catch(() => undefined);
    }
  }
}

export function findFreePort() {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}
