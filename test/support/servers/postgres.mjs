// A PostgreSQL of the tests' own: a throw-away cluster on a Unix socket and a free port of the loopback interface.
import { execFile, execFileSync } from 'node:child_process';
import { chownSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import pg from 'pg';
import { findFreePort } from '../ports.mjs';
import { spawnBound } from '../spawn-bound.mjs';
import { findPostgres } from './system-packages.mjs';

export { findFreePort };

const execute = promisify(execFile);

/** PostgreSQL refuses to run as root: then it runs as the user that its package made. */
const readId = (flag) => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }));
export const findPostgresUser = () =>
  process.getuid?.() === 0 ? { uid: readId('-u'), gid: readId('-g') } : {};

/** What every server of the tests has. */
const SETTINGS = {
  listen_addresses: '127.0.0.1',
  // Nothing here has to survive the machine.
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  max_connections: 200,
  shared_buffers: '256MB',
};

/**
 * @param {string} directory where the cluster is made; removing it afterwards is the caller's
 * @param {Record<string, string | number>} more settings beside, or instead of, those of the tests
 * @param {Record<string, string>} environment of its processes, beside that of this one
 */
export async function startPostgres(directory, more = {}, environment = {}) {
  const server = await prepare(directory, more, environment);
  const locale = ['-E', 'UTF8', '--locale=C.UTF-8'];
  await server.run('initdb', '-D', server.data, '-U', 'postgres', '-A', 'trust', ...locale, '-N');
  await server.start();
  return server;
}

/**
 * A streaming replica of a server, from a copy of it as it is now.
 * @param {string} directory where its cluster is made
 * @param {TestPostgres} primary see postgres.d.mts
 * @param {Record<string, string | number>} more as above
 */
export async function startPostgresReplica(directory, primary, more = {}) {
  const server = await prepare(directory, more);
  const from = ['-h', '127.0.0.1', '-p', String(primary.port), '-U', 'postgres'];
  await server.run('pg_basebackup', '-D', server.data, ...from, '-R', '-X', 'stream', '-c', 'fast', '-N');
  await server.start();
  return server;
}

async function prepare(directory, more, environment = {}) {
  const programs = findPostgres();
  if (programs === null) throw new Error('PostgreSQL is not installed: npm test installs it first');
  mkdirSync(directory, { recursive: true });
  giveToPostgres(directory);
  return new TestPostgres(programs, directory, await findFreePort(), more, environment);
}

/** Lets the user that PostgreSQL runs as write a directory. */
export function giveToPostgres(directory) {
  const { uid, gid } = findPostgresUser();
  if (uid !== undefined) chownSync(directory, uid, gid);
}

class TestPostgres {
  #programs;
  #directory;
  #settings;
  #environment;
  #identity = findPostgresUser();
  #server = null;
  #ended = Promise.resolve();

  constructor(programs, directory, port, more, environment) {
    this.#environment = environment;
    this.#programs = programs;
    this.#directory = directory;
    this.#settings = { ...SETTINGS, port, unix_socket_directories: directory, ...more };
    this.port = port;
  }

  get data() {
    return join(this.#directory, 'data');
  }

  url(database) {
    return `postgres://postgres@127.0.0.1:${this.port}/${database}`;
  }

  async run(program, ...args) {
    await execute(join(this.#programs, program), args, this.#identity);
  }

  async start() {
    const options = Object.entries(this.#settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
    const server = spawnBound(join(this.#programs, 'postgres'), ['-D', this.data, ...options], {
      stdio: 'ignore',
      env: { ...process.env, ...this.#environment },
      ...this.#identity,
    });
    this.#server = server;
    // It may end before it is told to: whoever presses Ctrl-C stops it too.
    this.#ended = new Promise((resolve) => server.once('exit', resolve));
    await untilReady(this.url('postgres'), server);
  }

  async stop() {
    await this.run('pg_ctl', '-D', this.data, '-m', 'immediate', 'stop').catch(() => undefined);
    await this.#ended;
  }

  /** All of its processes at once, as when the machine loses its power. */
  async kill() {
    const killed = this.#signal('SIGKILL');
    await this.#ended;
    // No other one starts on its data as long as one of them has its memory.
    while (killed.some(isRunning)) await sleep(10);
  }

  /** It takes connections and answers nothing. */
  hang() {
    this.#signal('SIGSTOP');
  }

  goOn() {
    this.#signal('SIGCONT');
  }

  async promote() {
    await this.run('pg_ctl', '-D', this.data, '-w', 'promote');
  }

  /** @returns the processes that were there */
  #signal(signal) {
    const { pid, exitCode, signalCode } = this.#server;
    if (exitCode !== null || signalCode !== null) return [];
    // It begins nothing while it is looked what it has begun.
    process.kill(pid, 'SIGSTOP');
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean);
    const all = [...children.map(Number), pid];
    for (const each of all) {
      try {
        process.kill(each, signal);
      } catch (error) {
        if (error.code !== 'ESRCH') throw error; // It has ended by itself meanwhile.
      }
    }
    return all;
  }
}

/** A zombie holds nothing any more. */
function isRunning(pid) {
  try {
    return !/^State:\s+[ZX]/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

async function untilReady(url, server) {
  for (;;) {
    const client = new pg.Client(url);
    try {
      await client.connect();
      return;
    } catch (error) {
      if (server.exitCode !== null || server.signalCode !== null) throw error;
      await sleep(100);
    } finally {
      await client.end().catch(() => undefined);
    }
  }
}
