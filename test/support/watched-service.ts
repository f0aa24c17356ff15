import { mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Config, type Environment, readConfig } from '../../src/config/config.js';
import { TestProcess } from './clients/command.js';
import { requestToken } from './clients/http.js';
import { findFreePort } from './servers/postgres.mjs';
import { createDatabase, type TestDatabase, variable } from './servers/store.js';

/** The work of a process during an interval. */
export interface ProcessWork {
  /** Operations whose resolvers were called. */
  readonly operations: number;
  /** Statements of these operations. */
  readonly statements: number;
}

interface WatchedOptions {
  /** Content of the directory file; default: an empty directory. */
  ldif?: string;
  environment?: Environment;
  /** The URL of the database for the service. */
  reachDatabase?: (url: string) => string;
}

/** A built service in a process of its own, which reports its work. */
export class WatchedService {
  private constructor(
    readonly config: Config,
    private readonly process: TestProcess,
    private readonly database: TestDatabase,
    private readonly directory: string,
  ) {}

  /** Starts a service, and waits until it is ready. */
  static async start({
    ldif = 'version: 1\n',
    environment = {},
    reachDatabase = (url) => url,
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
      ...environment,
    };
    const process = TestProcess.start('main', [], { LOG_FORMAT: undefined, ...settings }, true);
    await process.untilPrinted(/Ready at /);
    return new WatchedService(readConfig(settings), process, database, directory);
  }

  get url(): string {
    return `http://${this.config.host}:${this.config.port}`;
  }

  /** Its output on standard output and standard error. */
  get output(): string {
    return this.process.output;
  }

  /** The id of its process. */
  get id(): number {
    return this.process.id;
  }

  get hasEnded(): boolean {
    return this.process.hasEnded;
  }

  /** Gets an access token of the embedded provider for a client whose secret is `{id}-secret`. */
  accessToken(scope: string, client: string): Promise<string> {
    return requestToken(this.config.baseUrl, client, scope);
  }

  /** Milliseconds for which its main thread has run on a processor (Linux: proc(5), schedstat). */
  get mainThreadTime(): number {
    return Number(readFileSync(`/proc/${this.id}/schedstat`, 'utf8').split(' ')[0]) / 1e6;
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
    return (await this.process.ask<{ megabytes: number }>('collect'))?.megabytes ?? NaN;
  }

  /** Returns the work since the last call. */
  async collectWork(): Promise<ProcessWork> {
    return (await this.process.ask<ProcessWork>('collectWork')) ?? { operations: NaN, statements: NaN };
  }

  /**
   * Makes the process fail like a fault of the program, and waits for its end.
   * @param details the message of the error
   * @returns the exit code
   */
  async fail(action: 'crash', details: object): Promise<number | null> {
    await this.process.ask(action, details);
    return (await this.process.end()).code;
  }

  /** Waits for a text in the output, and fails if the process ends before. */
  untilPrinted(pattern: RegExp): Promise<void> {
    return this.process.untilPrinted(pattern);
  }

  /** Ends the process like an operator. */
  async stop(): Promise<void> {
    await this.process.kill('SIGTERM');
    await this.database.drop();
    rmSync(this.directory, { recursive: true, force: true });
  }
}
