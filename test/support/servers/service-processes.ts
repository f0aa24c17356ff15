import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Environment } from '../../../src/config/config.js';
import { TestProcess } from '../clients/command.js';
import { findFreePort } from './postgres.mjs';
import { createDatabase, type TestDatabase, variable } from './store.js';

/** The last log line of a start. */
const DEMO_TOKEN = /Ready at[^]*Service account «demo», token (\S+)\n/;

/** A process of the service, which keeps its port across restarts. */
export class ServiceProcess {
  process: TestProcess;

  private constructor(
    readonly port: number,
    private readonly environment: Environment,
  ) {
    this.process = this.spawn();
  }

  static async start(environment: Environment): Promise<ServiceProcess> {
    const replica = new ServiceProcess(await findFreePort(), environment);
    await replica.untilReady();
    return replica;
  }

  /** Its GraphQL endpoint. */
  get config(): { host: string; port: number } {
    return { host: '127.0.0.1', port: this.port };
  }

  /** The token of the demonstration account, as an Authorization header. */
  get authorization(): string {
    const [, token] = DEMO_TOKEN.exec(this.process.stdout) ?? [];
    if (token === undefined) throw new Error(`No token was printed: ${this.process.stdout}`);
    return `Basic ${token}`;
  }

  /** Restarts it like a deployment, and waits until it is ready again. */
  async restart(): Promise<TestProcess> {
    const ended = await this.process.kill('SIGTERM');
    this.process = this.spawn();
    await this.untilReady();
    return ended;
  }

  /** Kills it, and starts it again. */
  async crash(): Promise<void> {
    await this.process.kill('SIGKILL');
    this.process = this.spawn();
    await this.untilReady();
  }

  private spawn(): TestProcess {
    const environment = { ...this.environment, PORT: String(this.port) };
    return TestProcess.start('main', [], environment);
  }

  private async untilReady(): Promise<void> {
    await this.process.untilPrinted(DEMO_TOKEN);
  }
}

/** Processes of the service on one database, which follow one directory file. */
export class ServiceProcesses {
  private constructor(
    readonly each: readonly ServiceProcess[],
    readonly database: TestDatabase,
    private readonly directory: string,
  ) {}

  /**
   * @param ldif content of the directory file
   * @param environment settings besides database and directory
   */
  static async start(count: number, ldif: string, environment: Environment = {}): Promise<ServiceProcesses> {
    const directory = mkdtempSync(join(variable('TEST_WORK_DIRECTORY'), 'replicas-'));
    writeFileSync(join(directory, 'directory.ldif'), ldif);
    const database = await createDatabase();
    const settings = {
      DATABASE_URL: database.url,
      DIRECTORY_URL: `file:${join(directory, 'directory.ldif')}`,
      DIRECTORY_SYNC_SECONDS: '1',
      // For the demonstration account.
      ALLOW_EMBEDDED: 'true',
      LIMIT_REQUESTS_PER_MINUTE: '1000000',
      LIMIT_POINTS_PER_HOUR: '100000000',
      DATABASE_TIMEOUT_SECONDS: '60',
      ...environment,
    };
    const each = await Promise.all(Array.from({ length: count }, () => ServiceProcess.start(settings)));
    return new ServiceProcesses(each, database, directory);
  }

  /** Replaces the directory file atomically. */
  replaceDirectory(ldif: string): void {
    const file = join(this.directory, 'directory.ldif');
    writeFileSync(`${file}.new`, ldif);
    renameSync(`${file}.new`, file);
  }

  async stop(): Promise<void> {
    await Promise.all(this.each.map(({ process }) => process.kill('SIGKILL')));
    await this.database.drop();
    rmSync(this.directory, { recursive: true, force: true });
  }
}
