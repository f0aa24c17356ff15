import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { DataSource } from 'typeorm';
import type { Scope } from '../../../src/auth/principal.js';
import { type Config, type Environment, readConfig } from '../../../src/config/config.js';
import type { Model } from '../../../src/config/model/model.schema.js';
import { createApp } from '../../../src/app.module.js';
import { Revisions } from '../../../src/database/revisions.js';
import { MirrorFollowing } from '../../../src/mirror/following.js';
import { Session } from '../../../src/mirror/leadership.js';
import { MirrorState } from '../../../src/mirror/status/mirror-state.js';
import type { RevisionOutcome } from '../../../src/mirror/revision/write-revision.js';
import { type RunOptions, Synchronizer } from '../../../src/mirror/synchronizer.js';
import { ServiceAccountsService } from '../../../src/service-accounts/service-accounts.service.js';
import { openDirectory } from '../../../src/sources/ldap/ldap-servers.js';
import { ComparedExecutions } from '../builders/compared-executions.js';
import { type Answer, type QueryOptions, readData, sendQuery } from '../clients/graphql.js';
import { requestToken } from '../clients/http.js';
import { LONGEST_WAIT } from '../eventually.js';
import { findFreePort } from './postgres.mjs';
import { createDatabase, type TestDatabase, variable } from './store.js';

export interface ServiceOptions {
  /** Content of the directory file; default: an empty directory. */
  ldif?: string;
  environment?: Environment;
  /**
   * Whether every operation is executed both compiled and by graphql-js, and the responses are compared; not for tests that count
   * statements.
   */
  compared?: boolean;
  /** Whether to confirm a first synchronization without users, which the deletion guard holds. */
  confirmed?: boolean;
  /** Whether the log of changes has the whole directory, because the first revision, which is not in the log, is empty. */
  logged?: boolean;
  /** Rules of visibility, as a model file has them. */
  visibility?: NonNullable<Model['visibility']>;
}

const EMPTY = 'version: 1\n';

/** A service of a test, on a port of the loopback interface and a database of its own. */
export class TestService {
  app!: NestFastifyApplication;
  config!: Config;
  private database!: TestDatabase;
  private directory!: string;
  private comparedExecutions: ComparedExecutions | null = null;

  static async start(options: ServiceOptions = {}): Promise<TestService> {
    const service = new TestService();
    await service.begin(options);
    return service;
  }

  /** A service that starts before the tests of the calling block, and stops after them. */
  static forSuite(
    options: ServiceOptions | (() => ServiceOptions | Promise<ServiceOptions>) = {},
  ): TestService {
    const service = new TestService();
    beforeAll(async () => {
      await service.begin(typeof options === 'function' ? await options() : options);
    });
    afterAll(() => service.stop());
    return service;
  }

  private async begin({
    ldif = EMPTY,
    environment = {},
    compared = true,
    confirmed = true,
    logged = false,
    visibility,
  }: ServiceOptions): Promise<void> {
    this.directory = mkdtempSync(join(variable('TEST_WORK_DIRECTORY'), 'service-'));
    writeFileSync(join(this.directory, 'directory.ldif'), logged ? EMPTY : ldif);
    this.database = await createDatabase();
    const config = readConfig({
      PORT: String(await findFreePort()),
      DATABASE_URL: this.database.url,
      DIRECTORY_URL: `file:${join(this.directory, 'directory.ldif')}`,
      // Tests send more requests a minute than clients; tests of limits set their own.
      LIMIT_REQUESTS_PER_MINUTE: '1000000',
      LIMIT_POINTS_PER_HOUR: '100000000',
      LIMIT_FAILED_LOGINS: '1000000',
      // A busy machine may stall a statement. Tests of the limit set their own.
      DATABASE_TIMEOUT_SECONDS: '60',
      LOG_LEVEL: 'fatal',
      ...environment,
    });
    this.config = visibility === undefined ? config : withVisibility(config, visibility);
    this.app = await createAppWithRetry(this.config);
    await this.app.listen(this.config.port, this.config.host);
    if (logged) {
      await this.synchronize();
      await this.confirmEmpty();
      this.replaceDirectory(ldif);
    }
    await this.app.get(MirrorFollowing).start();
    if (compared) this.comparedExecutions = new ComparedExecutions(this.app);
    if (confirmed) await this.confirmEmpty();
  }

  get url(): string {
    return `http://${this.config.host}:${this.config.port}`;
  }

  async stop(): Promise<void> {
    await this.app.close();
    await this.database.drop();
    rmSync(this.directory, { recursive: true, force: true });
    this.comparedExecutions?.check();
  }

  /** Creates a service account with these scopes, and returns its Authorization header. */
  serviceAccount(...scopes: Scope[]): Promise<string> {
    return this.limitedAccount(null, ...scopes);
  }

  /** @param groups the ids of the groups to which the account is limited; null: it is not limited */
  async limitedAccount(groups: string[] | null, ...scopes: Scope[]): Promise<string> {
    const id = `test-${Math.random().toString(36).slice(2, 12)}`;
    const { token } = await this.app
      .get(ServiceAccountsService)
      .create({ id, name: id, description: null, scopes, expiresAt: null, groups });
    return `Basic ${token}`;
  }

  /** Gets an access token of the embedded provider for a client of sample/clients.json. */
  accessToken(scope: string, client = 'demo-basic'): Promise<string> {
    return requestToken(this.config.baseUrl, client, scope);
  }

  /** Sends an operation by POST. */
  query<Data = Record<string, unknown>>(query: string, options?: QueryOptions): Promise<Answer<Data>> {
    return sendQuery<Data>(this.url, query, options);
  }

  /** Returns the data of a response, which must have no errors. */
  read<Data = Record<string, unknown>>(query: string, options?: QueryOptions): Promise<Data> {
    return readData<Data>(this.url, query, options);
  }

  /** Absolute path of the directory file that the service follows. */
  get directoryFile(): string {
    const { source } = this.config.directory;
    if (source.kind !== 'file') throw new Error('This service follows no file');
    return source.file;
  }

  /** Runs one full synchronization, like the command. */
  async synchronize(options: RunOptions = {}, config = this.config): Promise<RevisionOutcome> {
    const { app } = this;
    const synchronizer =
      config === this.config
        ? app.get(Synchronizer)
        : new Synchronizer(config, app.get(DataSource), app.get(Revisions));
    const session = await Session.open(config.database.url);
    const directory = await openDirectory(config.directory, [], new AbortController().signal);
    try {
      return await synchronizer.run(directory, session, { isWhole: true, ...options });
    } finally {
      directory.close();
      session.destroy();
    }
  }

  /** Confirms an empty directory: the deletion guard holds a first synchronization without users. */
  private async confirmEmpty(): Promise<void> {
    const { revision, blockedPlan } = await this.app.get(MirrorState).get();
    if (revision === null && blockedPlan !== null) await this.synchronize({ confirm: blockedPlan });
  }

  /** Replaces the directory file atomically. */
  replaceDirectory(ldif: string): void {
    const file = this.directoryFile;
    writeFileSync(`${file}.new`, ldif);
    renameSync(`${file}.new`, file);
  }

  /** Polls until a condition holds. */
  async until(holds: () => Promise<boolean>): Promise<void> {
    const latest = performance.now() + LONGEST_WAIT;
    while (!(await holds())) {
      if (performance.now() > latest) throw new Error(`It did not come true within ${LONGEST_WAIT} ms`);
      await sleep(50);
    }
  }
}

export function withVisibility(config: Config, visibility: NonNullable<Model['visibility']>): Config {
  const { users, groups } = config.directory.mapping;
  const { bypass = null, ...rules } = visibility;
  const mapping = {
    users: { ...users, rules: rules.users ?? [] },
    groups: { ...groups, rules: rules.groups ?? [], memberRules: rules.members ?? [] },
  };
  const own = bypass === null ? [] : [{ name: bypass, description: 'Everything that is hidden.' }];
  return {
    ...config,
    scopes: [...config.scopes, ...own],
    directory: { ...config.directory, mapping, visibility: { bypass } },
  };
}

/** The application with an open database, which does not listen yet. */
export async function openApp(config: Config): Promise<NestFastifyApplication> {
  const app = await createApp(config);
  await app.get(DataSource).initialize();
  return app;
}

/** The service gives PostgreSQL two seconds to open a connection: a busy machine may need more, and then it is tried again. */
async function createAppWithRetry(config: Config): Promise<NestFastifyApplication> {
  const latest = performance.now() + LONGEST_WAIT;
  for (;;) {
    try {
      return await openApp(config);
    } catch (error) {
      const isBusy = error instanceof Error && error.message.includes('due to connection timeout');
      if (!isBusy || performance.now() > latest) throw error;
    }
  }
}
