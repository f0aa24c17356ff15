import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Config, type Environment, readConfig } from '../../src/config/config.js';
import { findFreePort } from './servers/postgres.mjs';
import { spawnBound } from './spawn-bound.mjs';
import { createDatabase, type TestDatabase, variable } from './servers/store.js';

/** The work of a process during an interval. */
export interface ProcessWork {
  /** Operations whose resolvers were called. */
  readonly operations: number;
  /** Statements of these operations. */
  readonly statements: number;
}

export interface WatchedOptions {
  /** Content of the directory file; default: an empty directory. */
  ldif?: string;
  environment?: Environment;
  /** The URL of the database for the service. */
  reachDatabase?: (url: string) => string;
  /** The directory of the program: bundle-service.mjs. */
  build?: 'dist' | 'dist/bundled';
}

/** A built service in a process of its own, which reports its work. */
export class WatchedService {
  /** Its output on standard output and standard error. */
  output = '';
  private readonly ended: Promise<unknown>;

  private constructor(
    readonly config: Config,
    private readonly child: ChildProcess,
    private readonly database: TestDatabase,
    private readonly directory: string,
  ) {
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => (this.output += text));
    }
    this.ended = once(child, 'close');
  }

  /** Starts a service, and waits until it is ready. */
  static async start({
    ldif = 'version: 1\n',
    environment = {},
    reachDatabase = (url) => url,
    build = 'dist/bundled',
  }: WatchedOptions = {}): Promise<WatchedService> {
    const directory = mkdtempSync(join(variable('TEST_WORK_DIRECTORY'), 'watched-'));
    writeFileSync(join(directory, 'directory.ldif'), ldif);
    const database = await createDatabase();
    const settings: Environment = {
      PORT: String(await findFreePort()),
      DATABASE_URL: reachDatabase(database.url),
      DIRECTORY_URL: `file:${join(directory, 'directory.ldif')}`,
      LIMIT_REQUESTS_PER_MINUTE: '1000000',
      LIMIT_POINTS_PER_HOUR: '100000000',
      LIMIT_FAILED_LOGINS: '1000000',
      // Only tests that say so read them.
      LOG_REQUESTS: 'false',
      WORKERS: '1',
      ...environment,
    };
    const child = spawnBound(process.execPath, ['--import', './test/support/watch.mjs', `${build}/main.js`], {
      env: { PATH: process.env.PATH, TMPDIR: process.env.TMPDIR, NO_COLOR: '1', ...settings },
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
    const service = new WatchedService(readConfig(settings), child, database, directory);
    await service.untilPrinted(/Ready at /);
    return service;
  }

  get url(): string {
    return `http://${this.config.host}:${this.config.port}`;
  }

  /** The id of its process. */
  get id(): number {
    return this.child.pid ?? 0;
  }

  get hasEnded(): boolean {
    return this.child.exitCode !== null || this.child.signalCode !== null;
  }

  /** Gets an access token of the embedded provider for a client whose secret is `{id}-secret`. */
  async accessToken(scope: string, client: string): Promise<string> {
    const response = await fetch(`${this.config.baseUrl}/oauth2/token`, {
      method: 'POST',
      headers: { authorization: `Basic ${Buffer.from(`${client}:${client}-secret`).toString('base64')}` },
      body: new URLSearchParams({ grant_type: 'client_credentials', scope }),
    });
    const { access_token: token } = (await response.json()) as { access_token: string };
    return `Bearer ${token}`;
  }

  /** Resident memory in megabytes: proc(5). */
  get megabytes(): number {
    const [, kilobytes] = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${this.id}/status`, 'utf8')) ?? [];
    return Number(kilobytes) / 1024;
  }

  /** Open files and connections. */
  get descriptors(): number {
    return readdirSync(`/proc/${this.id}/fd`).length;
  }

  /** Processor time per second: proc(5). */
  async restlessness(): Promise<number> {
    const before = this.processorTime;
    await sleep(1000);
    return this.processorTime - before;
  }

  /** Seconds, from hundredths. */
  private get processorTime(): number {
    const stat = readFileSync(`/proc/${this.id}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return (Number(fields[11]) + Number(fields[12])) / 100;
  }

  /** Replaces the directory file atomically. */
  replaceDirectory(ldif: string): void {
    const file = join(this.directory, 'directory.ldif');
    writeFileSync(`${file}.new`, ldif);
    renameSync(`${file}.new`, file);
  }

  /**
   * Runs the garbage collector.
   * @returns megabytes of the heap in use
   */
  async collect(): Promise<number> {
    const done = once(this.child, 'message') as Promise<[{ megabytes: number }]>;
    this.child.send({ action: 'collect' });
    const [{ megabytes }] = await done;
    return megabytes;
  }

  /** Blocks its event loop for some time. */
  hold(milliseconds: number): Promise<unknown> {
    const done = once(this.child, 'message');
    this.child.send({ action: 'hold', details: { milliseconds } });
    return done;
  }

  /** Pauses the process (SIGSTOP) until `resume`. */
  freeze(): void {
    this.child.kill('SIGSTOP');
  }

  resume(): void {
    this.child.kill('SIGCONT');
  }

  /** Returns the work since the last call. */
  async collectWork(): Promise<ProcessWork> {
    const answer = once(this.child, 'message') as Promise<[ProcessWork]>;
    this.child.send({ action: 'collectWork' });
    const [reported] = await answer;
    return reported;
  }

  /**
   * Makes the process fail like a fault of the program, and waits for its end.
   * @param details the message of the error
   * @returns the exit code
   */
  async fail(action: 'crash' | 'reject', details: object): Promise<number | null> {
    this.child.send({ action, details });
    await this.ended;
    return this.child.exitCode;
  }

  /** Waits for a text in the output, and fails if the process ends before. */
  async untilPrinted(pattern: RegExp): Promise<void> {
    while (!pattern.test(this.output)) {
      await Promise.race([once(this.child.stdout ?? this.child, 'data'), this.ended]);
      if (this.hasEnded && !pattern.test(this.output)) throw new Error(`It has ended: ${this.output}`);
    }
  }

  /** Ends the process like an operator. */
  async stop(): Promise<void> {
    this.child.kill('SIGTERM');
    await this.ended;
    await this.database.drop();
    rmSync(this.directory, { recursive: true, force: true });
  }
}
