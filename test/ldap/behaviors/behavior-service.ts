import pg from 'pg';
import type { Environment } from '../../../src/config/config.js';
import { runCommand, TestProcess } from '../../support/clients/command.js';
import { findFreePort } from '../../support/servers/postgres.mjs';
import { createDatabase, type TestDatabase } from '../../support/servers/store.js';
import { type Shown, sorted } from './behavior-directory.js';

/** A process of the service, and its mirror as the database has it. */
export class BehaviorService {
  private process: TestProcess | null = null;

  private constructor(
    private readonly environment: Environment,
    private readonly database: TestDatabase,
    private readonly client: pg.Client,
  ) {}

  static async start(settings: Environment): Promise<BehaviorService> {
    const database = await createDatabase();
    const client = new pg.Client(database.url);
    await client.connect();
    const environment = {
      DATABASE_URL: database.url,
      PORT: String(await findFreePort()),
      ALLOW_EMBEDDED: 'true',
      DIRECTORY_SYNC_SECONDS: '1',
      ...settings,
    };
    const service = new BehaviorService(environment, database, client);
    await service.resume();
    return service;
  }

  async pause(): Promise<void> {
    await this.process?.kill('SIGTERM');
    this.process = null;
  }

  async resume(): Promise<void> {
    this.process = TestProcess.start('main', [], this.environment);
    await this.process.untilPrinted(/Ready at/);
  }

  async stop(): Promise<void> {
    await this.process?.kill('SIGKILL');
    await this.client.end();
    await this.database.drop();
  }

  /** Runs a command of the product with the settings of the service. */
  run(...args: string[]): Promise<TestProcess> {
    return runCommand(args, this.environment);
  }

  /** The same with other settings besides those of the service. */
  runWith(settings: Environment, ...args: string[]): Promise<TestProcess> {
    return runCommand(args, { ...this.environment, ...settings });
  }

  /** What it has printed since its last start. */
  get log(): string {
    return this.process?.stdout ?? '';
  }

  readonly readState = async () => (await this.readStatus()).state;

  async readStatus(): Promise<{ state: string; reason: string | null; plan: string | null }> {
    return this.one('select state, reason, blocked_plan as plan from mirror_state');
  }

  /** Number of users that revisions have deleted so far. */
  async countDeleted(): Promise<number> {
    const { count } = await this.one<{ count: number }>(
      'select coalesce(sum(users_deleted), 0)::integer as count from revisions',
    );
    return count;
  }

  readonly readShown = async (): Promise<Shown> => {
    const users = await this.client.query<{
      id: string;
      name: string;
      photo: string | null;
      active: boolean;
    }>(`select id, name, encode(photo, 'hex') as photo, is_active as active from users`);
    const groups = await this.client.query<{ id: string; members: string[] }>(
      `select g.id, array(select u.id from effective_memberships m join users u on u.key = m.user_key
         where m.group_key = g.key) as members from groups g`,
    );
    return {
      users: sorted(users.rows.map(({ id, ...user }) => [id, user])),
      groups: sorted(groups.rows.map(({ id, members }) => [id, members.sort()])),
    };
  };

  private async one<Row extends object>(text: string): Promise<Row> {
    const { rows } = await this.client.query<Row>(text);
    if (rows[0] === undefined) throw new Error('There is no row');
    return rows[0];
  }
}
