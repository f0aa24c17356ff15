import { spawn, type SpawnOptions } from 'node:child_process';
import {
  chownSync,
  closeSync,
  existsSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import pg from 'pg';
import { embeddedAddressOf, dataDirectoryOf } from '../../config/settings/embedded-address.js';
import { DatabaseAwayError, DatabaseStartError, reasonOf } from '../connections/database-start.error.js';
import { findServerAccount, isRoot, PostgresPrograms, type ServerAccount } from './postgres-programs.js';

/** The major version of the programs. */
const MAJOR_VERSION = '18';

/** Key of the advisory lock that each process shares while it uses the server: the bytes of «dirs». */
const PRESENCE_LOCK = 0x64697273;

/** Milliseconds after which a start counts as failed. A server that recovers from a crash accepts connections later. */
const START_TIMEOUT_MS = 60_000;
const POLL_INTERVAL_MS = 50;
const RESTART_PAUSE_MS = 1000;
const LARGEST_LOG_BYTES = 1_000_000;
const PASSES_NO_ONE = 0o700;
const FOR_OTHERS = 0o077;

/** A server that only this machine uses, for a directory of some thousand people. */
const SETTINGS: Readonly<Record<string, string>> = {
  unix_socket_permissions: '0700',
  max_connections: '200',
  shared_buffers: '64MB',
  max_wal_size: '512MB',
  // It has no replicas.
  wal_level: 'minimal',
  max_wal_senders: '0',
  max_logical_replication_workers: '0',
  io_method: 'sync',
  log_checkpoints: 'off',
  timezone: 'UTC',
  log_timezone: 'UTC',
  // The log has no values of statements, which are personal data.
  log_error_verbosity: 'terse',
  log_min_error_statement: 'panic',
};

/**
 * The PostgreSQL server of a `DATABASE_URL=embedded:DIR`. The first process that needs it starts it, the others join it, and the
 * last one that ends stops it. It continues when its processes are killed, and the next process joins it (docs/adr/0003).
 */
export class EmbeddedServer {
  private readonly logger = new Logger('Database');
  private readonly data: string;
  private readonly ending = new AbortController();
  private session: pg.Client | null = null;
  private joining: Promise<void> = Promise.resolve();
  /** Why the last connection failed. */
  private reason = '';

  private constructor(private readonly directory: string) {
    this.data = dataDirectoryOf(directory);
  }

  /** Whether there is a database in a directory, also one that this version cannot open. */
  static isCreated(directory: string): boolean {
    return existsSync(dataDirectoryOf(directory)) || findFormer(directory) !== undefined;
  }

  /** @throws DatabaseStartError */
  static async open(directory: string): Promise<EmbeddedServer> {
    const server = new EmbeddedServer(directory);
    await server.join();
    return server;
  }

  /** Stops the server, unless another process uses it. */
  async close(): Promise<void> {
    this.ending.abort();
    await this.joining;
    const { session } = this;
    if (session === null) return;
    this.session = null;
    try {
      await session.query('select pg_advisory_unlock_shared($1)', [PRESENCE_LOCK]);
      // A process that joins now waits until the server has stopped, and starts it again.
      const { rows } = await session.query<{ isLast: boolean }>(
        'select pg_try_advisory_lock($1) as "isLast"',
        [PRESENCE_LOCK],
      );
      if (rows[0]?.isLast === true) await this.stop();
    } catch (error) {
      this.logger.warn(`The embedded database was not stopped: ${reasonOf(error)}`);
    } finally {
      await session.end().catch(() => undefined);
    }
  }

  private async join(): Promise<void> {
    const latest = performance.now() + START_TIMEOUT_MS;
    while (!(await this.joinRunning())) {
      if (this.ending.signal.aborted) return;
      if (performance.now() > latest)
        throw new DatabaseAwayError(
          `The embedded database in ${this.directory} accepts no connections: ${this.reason}`,
        );
      if (this.isAbsent() && (await this.start())) return;
      await sleep(POLL_INTERVAL_MS);
    }
  }

  /** @returns false if no server accepts connections, or not yet */
  private async joinRunning(): Promise<boolean> {
    // Without it, a server that listens has lost its files.
    if (!existsSync(this.lockFile)) return false;
    const session = new pg.Client({
      connectionString: embeddedAddressOf(this.directory).url,
      connectionTimeoutMillis: START_TIMEOUT_MS,
    });
    session.on('error', () => undefined);
    try {
      await session.connect();
      await session.query('select pg_advisory_lock_shared($1)', [PRESENCE_LOCK]);
    } catch (error) {
      this.reason = reasonOf(error);
      await session.end().catch(() => undefined);
      return false;
    }
    this.session = session;
    session.once('end', () => {
      if (this.session === session) this.joining = this.rejoin();
    });
    return true;
  }

  /** The server has ended, or has ended all connections because one of its processes was killed. */
  private async rejoin(): Promise<void> {
    this.session = null;
    this.logger.warn('The embedded database has ended its connections');
    while (!this.ending.signal.aborted) {
      try {
        await this.join();
        return;
      } catch (error) {
        this.logger.error(reasonOf(error));
        await sleep(RESTART_PAUSE_MS, undefined, { signal: this.ending.signal }).catch(() => undefined);
      }
    }
  }

  /** Whether no server listens. One that answers with an error starts, recovers or ends. */
  private isAbsent(): boolean {
    return !existsSync(this.lockFile) || /ENOENT|ECONNREFUSED/.test(this.reason);
  }

  private get lockFile(): string {
    return join(this.data, 'postmaster.pid');
  }

  /** @returns whether this process has joined the server that it started */
  private async start(): Promise<boolean> {
    const programs = await this.prepare();
    const { program, args, options } = programs.call('postgres', this.data, ...this.settings());
    const log = join(this.data, 'server.log');
    const before = sizeOf(log);
    if (before > LARGEST_LOG_BYTES) rmSync(log);
    const output = openSync(log, 'a', PASSES_NO_ONE);
    // A terminal sends its signals to all processes of a group. This server has its own, and outlives this process.
    const child = spawn(program, args, {
      ...options,
      detached: true,
      stdio: ['ignore', output, output],
    });
    closeSync(output);
    child.unref();
    const failed = new Promise<string>((resolve) => {
      child.once('error', (error) => {
        resolve(reasonOf(error));
      });
      child.once('exit', () => {
        resolve(reasonIn(readFileSync(log, 'utf8').slice(before > LARGEST_LOG_BYTES ? 0 : before)));
      });
    });
    for (;;) {
      if (await this.joinRunning()) return true;
      const reason = await Promise.race([failed, sleep(POLL_INTERVAL_MS, null)]);
      if (reason === null) continue;
      // Another process starts the server at the same time.
      if (!reason.includes('postmaster.pid'))
        throw new DatabaseStartError(
          `The embedded database in ${this.directory} does not start: ${reason}. Its log is ${log}`,
        );
      this.disownLock();
      return false;
    }
  }

  private settings(): string[] {
    const { host, port } = embeddedAddressOf(this.directory);
    const isSocket = host.startsWith('/');
    const all = {
      ...SETTINGS,
      port: String(port),
      listen_addresses: isSocket ? '' : host,
      unix_socket_directories: isSocket ? host : '',
    };
    return Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  }

  /**
   * The lock file names the process of the server. After a crash of the machine, or in a container, another process may have its
   * number, which PostgreSQL cannot see. It ignores the number of the process that starts it, and still sees whether the shared
   * memory is in use.
   */
  private disownLock(): void {
    try {
      const text = readFileSync(this.lockFile, 'utf8');
      const holder = `/proc/${/^\d+/.exec(text)?.[0] ?? ''}`;
      if (!existsSync(holder) || readlinkSync(join(holder, 'cwd')) === realpathSync(this.data)) return;
      writeFileSync(this.lockFile, text.replace(/^\d+/, String(process.pid)));
    } catch {
      // The process has ended, or belongs to another user: PostgreSQL finds that out.
    }
  }

  private async stop(): Promise<void> {
    const programs = new PostgresPrograms(isRoot() ? statSync(this.data) : null);
    const call = programs.call('pg_ctl', this.data, 'stop', '--silent', '--mode=fast');
    const { code, output } = await runToEnd(call.program, call.args, call.options);
    if (code !== 0) throw new Error(reasonIn(output));
  }

  private async prepare(): Promise<PostgresPrograms> {
    try {
      refuseOther(this.directory, this.data);
      const isThere = existsSync(this.data);
      const owner = isThere ? statSync(this.data) : null;
      const account = isRoot() ? (owner ?? findServerAccount()) : null;
      const programs = new PostgresPrograms(account);
      if (!isThere) await this.create(programs, account);
      const { host } = embeddedAddressOf(this.directory);
      if (host.startsWith('/') && host !== this.data) makeSocketDirectory(host, statSync(this.data));
      return programs;
    } catch (error) {
      if (error instanceof DatabaseStartError) throw error;
      const reason = reasonOf(error);
      throw new DatabaseStartError(`The embedded database in ${this.directory} cannot be used: ${reason}`, {
        cause: error,
      });
    }
  }

  /** Creates the files under another name, so that an interruption leaves no part of a database. */
  private async create(programs: PostgresPrograms, account: ServerAccount | null): Promise<void> {
    this.logger.log(`Creating the embedded database in ${this.directory}, once`);
    // The account of the server has to enter it.
    mkdirSync(this.directory, { recursive: true, mode: account === null ? 0o700 : 0o711 });
    removeUnfinished(this.directory);
    const created = join(this.directory, `creating-${process.pid}`);
    mkdirSync(created, { mode: PASSES_NO_ONE });
    try {
      if (account !== null) chownSync(created, account.uid, account.gid);
      const { program, args, options } = programs.call(
        'initdb',
        created,
        '--username=postgres',
        '--auth=trust',
        '--encoding=UTF8',
        '--locale=C',
        '--locale-provider=builtin',
        '--builtin-locale=C.UTF-8',
      );
      const { code, output } = await runToEnd(program, args, options);
      if (code !== 0) throw new Error(reasonIn(output));
      renameSync(created, this.data);
    } catch (error) {
      // Another process may have created it meanwhile.
      if (!existsSync(this.data)) throw error;
    } finally {
      rmSync(created, { recursive: true, force: true });
    }
  }
}

/** What processes have left that were killed while they created a database. */
function removeUnfinished(directory: string): void {
  for (const name of readdirSync(directory)) {
    const [, pid] = /^creating-(\d+)$/.exec(name) ?? [];
    if (pid !== undefined && !isRunning(Number(pid)))
      rmSync(join(directory, name), { recursive: true, force: true });
  }
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** The database of an earlier version, which had its files elsewhere: in the directory, or by default in `mirror` below it. */
function findFormer(directory: string): string | undefined {
  return [directory, join(directory, 'mirror')].find((path) => existsSync(join(path, 'PG_VERSION')));
}

/** @throws DatabaseStartError for a database that this version, or this user, cannot open */
function refuseOther(directory: string, data: string): void {
  const former = findFormer(directory);
  if (former !== undefined)
    throw new DatabaseStartError(
      `The directory ${former} holds a database of an earlier version of the service, which this one cannot open. ` +
        'Delete it: the next start reads the directory again. Service accounts are created again, and get new tokens: ' +
        'the earlier version lists them (./directory service-account list)',
    );
  const found = statSync(data, { throwIfNoEntry: false });
  if (found === undefined) return;
  if (process.getuid !== undefined && !isRoot() && found.uid !== process.getuid())
    throw new DatabaseStartError(
      `The database ${data} belongs to another user (number ${found.uid}): start the service as that user or as root, ` +
        'or set another directory (DATABASE_URL=embedded:DIR)',
    );
  const version = readFileSync(join(data, 'PG_VERSION'), 'utf8').trim();
  if (version !== MAJOR_VERSION)
    throw new DatabaseStartError(
      `The database ${data} is of PostgreSQL ${version}, and this version of the service brings ${MAJOR_VERSION}: ` +
        'copy it with pg_dump, or delete it, and the next start reads the directory again',
    );
}

/** The name of a socket must be short, so a data directory with a long name has one elsewhere, which is just as private. */
function makeSocketDirectory(path: string, { uid, gid }: ServerAccount): void {
  if (!existsSync(path)) {
    mkdirSync(path, { mode: PASSES_NO_ONE });
    if (isRoot()) chownSync(path, uid, gid);
  }
  const found = lstatSync(path);
  if (!found.isDirectory() || found.uid !== uid || (found.mode & FOR_OTHERS) !== 0)
    throw new DatabaseStartError(
      `The directory ${path} for the socket of the database belongs to another user`,
    );
}

async function runToEnd(
  program: string,
  args: readonly string[],
  options: SpawnOptions,
): Promise<{ code: number | null; output: string }> {
  const child = spawn(program, args, { ...options, detached: true, stdio: ['ignore', 'ignore', 'pipe'] });
  let output = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (output += text));
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => {
      resolve({ code, output });
    });
  });
}

/** The first error in the output of a program, without its time and process: what follows is a consequence. */
function reasonIn(output: string): string {
  // A process that connects too early gets an error as well.
  const isError = (line: string) =>
    /FATAL|PANIC|error:|could not/.test(line) && !line.includes('the database system is');
  return (
    (output.split('\n').find(isError) ?? output.trim()).replace(/^.*?(FATAL|PANIC|error): +/, '') ||
    'no reason is known'
  );
}

function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}
