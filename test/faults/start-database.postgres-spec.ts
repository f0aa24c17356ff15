import pg from 'pg';
import { runCommand } from '../support/clients/command.js';
import { createDatabase, type TestDatabase, variable } from '../support/servers/store.js';

describe('a database on an unusable server', () => {
  let database: TestDatabase;
  let client: pg.Client;

  beforeEach(async () => {
    database = await createDatabase();
    client = new pg.Client(database.url);
    await client.connect();
    await client.query('drop schema public cascade');
    await client.query('create schema public');
  });

  afterEach(async () => {
    await client.end();
    await database.drop();
  });

  async function listRelations(): Promise<string[]> {
    const { rows } = await client.query<{ name: string }>(
      `select relname as name from pg_class where relnamespace = 'public'::regnamespace order by 1`,
    );
    return rows.map(({ name }) => name);
  }

  it.each([
    ['users', 'create table users (id integer, email text)'],
    ['orders', 'create table orders (id integer)'],
    [
      'migrations',
      `create table migrations (id integer, "timestamp" bigint, name text); insert into migrations values (1, 1, 'Theirs1')`,
    ],
  ])('with the table %s of another application is left unchanged', async (table, statements) => {
    await client.query(statements);
    const { code, stdout, stderr } = await runCommand(['sync'], { DATABASE_URL: database.url });
    expect([code, stdout, stderr]).toEqual([
      1,
      '',
      'The database holds tables of another application: give this service one of its own (DATABASE_URL)\n',
    ]);
    expect(await listRelations()).toEqual([table]);
    const { rows } = await client.query(`select from pg_extension where extname = 'pg_trgm'`);
    expect(rows).toEqual([]);
  });

  it('is created again after an interrupted first start', async () => {
    await client.query(
      'create table migrations (id serial, "timestamp" bigint not null, name varchar not null)',
    );
    const { code } = await runCommand(['service-account', 'list'], { DATABASE_URL: database.url });
    expect(code).toBe(0);
    expect(await listRelations()).toContain('users');
  });

  it('with a maximum of one connection is sufficient', async () => {
    const { code } = await runCommand(['sync'], { DATABASE_URL: database.url, DATABASE_POOL_SIZE: '1' });
    expect(code).toBe(0);
  });

  it.each([
    [
      'that does not exist',
      () => variable('TEST_POSTGRES_URL').replace(/[^/]*$/, 'nothing'),
      /does not exist/,
    ],
    ['without a server', () => 'postgres://user:hunter2@127.0.0.1:1/nothing', /ECONNREFUSED/],
  ])('%s is reported in one line, without a password', async (_, url, reason) => {
    const { code, stdout, stderr } = await runCommand(['service-account', 'list'], { DATABASE_URL: url() });
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(/^The database «nothing» at 127\.0\.0\.1:\d+ cannot be used: [^\n]+\n$/);
    expect(stderr).toMatch(reason);
    expect(stderr).not.toContain('hunter2');
  });
});
