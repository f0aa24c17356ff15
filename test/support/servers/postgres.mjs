// A PostgreSQL of the tests: a temporary cluster on a Unix socket and a free port of the loopback interface.
import { execFile } from 'node:child_process';
import { chownSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import pg from 'pg';
import { findFreePort } from '../ports.mjs';
import { spawnBound } from '../spawn-bound.mjs';
import { callOf, findServerAccount, isRoot } from '../../../dist/database/embedded/embedded-server.js';

export { findFreePort };

const execute = promisify(execFile);

/** PostgreSQL refuses to run as root. */
export const findPostgresUser = () => (isRoot() ? findServerAccount() : {});

/** Settings of all servers of the tests. */
const SETTINGS = {
  listen_addresses: '127.0.0.1',
  // No data has to survive a crash of the machine.
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  max_connections: 270,
  shared_buffers: '256MB',
};

/**
 * @param {string} directory for the cluster; the caller removes it
 * @param {Record<string, string | number>} more settings that add to or replace those of the tests
 * @param {Record<string, string>} environment additional environment of its processes
 */
export async function startPostgres(directory, more = {}, environment = {}) {
  const server = await prepare(directory, more, environment);
  const locale = ['-E', 'UTF8', '--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8'];
  mkdirSync(server.data);
  giveToPostgres(server.data);
  await server.run('initdb', '-U', 'postgres', '-A', 'trust', ...locale, '-N');
  await server.start();
  return server;
}

/**
 * Starts a streaming replica from a base backup of a server.
 * @param {string} directory for its cluster
 * @param {TestPostgres} primary see postgres.d.mts
 * @param {Record<string, string | number>} more as above
 */
export async function startPostgresReplica(directory, primary, more = {}) {
  const server = await prepare(directory, more);
  await copyFiles(primary, server);
  await server.start();
  return server;
}

/** A base backup by the functions of the server, because the package has no pg_basebackup. */
async function copyFiles(primary, replica) {
  const client = new pg.Client(primary.url('postgres'));
  await client.connect();
  try {
    await client.query("select pg_backup_start('replica', true)");
    // It fails for a file that ends meanwhile. The replica repeats such changes from the log.
    await execute('cp', ['-a', primary.data, replica.data]).catch(() => undefined);
    const { rows } = await client.query('select labelfile from pg_backup_stop(false)');
    rmSync(join(replica.data, 'postmaster.pid'));
    const from = `host=127.0.0.1 port=${primary.port} user=postgres`;
    const files = {
      backup_label: rows[0].labelfile,
      'standby.signal': '',
      'postgresql.auto.conf': `primary_conninfo = '${from}'\n`,
    };
    for (const [name, text] of Object.entries(files)) {
      writeFileSync(join(replica.data, name), text);
      giveToPostgres(join(replica.data, name));
    }
  } finally {
    await client.end();
  }
}

async function prepare(directory, more, environment = {}) {
  mkdirSync(directory, { recursive: true });
  giveToPostgres(directory);
  return new TestPostgres(directory, await findFreePort(), more, environment);
}

/** Gives a file or directory to the user that PostgreSQL runs as. */
export function giveToPostgres(path) {
  const { uid, gid } = findPostgresUser();
  if (uid !== undefined) chownSync(path, uid, gid);
}

class TestPostgres {
  #directory;
  #settings;
  #environment;
  #server = null;
  #ended = Promise.resolve();

  constructor(directory, port, more, environment) {
    this.#environment = environment;
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

  async run(name, ...given) {
    const { program, args, options } = callOf(name, this.data, ...given);
    await execute(program, args, options);
  }

  async start() {
    const settings = Object.entries(this.#settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
    const { program, args, options } = callOf('postgres', this.data, ...settings);
    const env = { ...process.env, ...options.env, ...this.#environment };
    const server = spawnBound(program, args, { ...options, stdio: 'ignore', env });
    this.#server = server;
    // The server may have ended before: Ctrl-C stops it, too.
    this.#ended = new Promise((resolve) => server.once('exit', resolve));
    await untilReady(this.url('postgres'), server);
  }

  async stop() {
    await this.run('pg_ctl', 'stop', '-m', 'immediate').catch(() => undefined);
    await this.#ended;
  }

  /** Kills all its processes at once, like a power failure. */
  async kill() {
    const killed = this.#signal('SIGKILL');
    await this.#ended;
    // No new server starts on its data while a process holds its shared memory.
    while (killed.some(isRunning)) await sleep(10);
  }

  /** Pauses all processes: connections are accepted, but not answered. */
  hang() {
    this.#signal('SIGSTOP');
  }

  resume() {
    this.#signal('SIGCONT');
  }

  async promote() {
    await this.run('pg_ctl', 'promote', '-w');
  }

  /** @returns the ids of the paused processes */
  #signal(signal) {
    const { pid, exitCode, signalCode } = this.#server;
    if (exitCode !== null || signalCode !== null) return [];
    // A paused postmaster starts no processes while its children are read.
    process.kill(pid, 'SIGSTOP');
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean);
    const all = [...children.map(Number), pid];
    for (const each of all) {
      try {
        process.kill(each, signal);
      } catch (error) {
        if (error.code !== 'ESRCH') throw error; // The process has ended in the meantime.
      }
    }
    return all;
  }
}

/** A zombie holds no resources. */
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
