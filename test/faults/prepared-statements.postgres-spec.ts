import pg from 'pg';
import { PreparingClient } from '../../src/database/connections/preparing-client.js';
import { buildLdif } from '../support/builders/directory.js';
import { eventually } from '../support/eventually.js';
import { createDatabase, type TestDatabase } from '../support/servers/store.js';
import { WatchedService } from '../support/watched-service.js';

const TWICE = 'select $1::integer * 2 as value';

describe('a connection', () => {
  let database: TestDatabase;
  let client: PreparingClient;

  beforeAll(async () => {
    database = await createDatabase();
  });

  beforeEach(async () => {
    // As in the pools of the service.
    client = new PreparingClient({ connectionString: database.url, pipeline: true });
    await client.connect();
  });

  afterEach(() => client.end());
  afterAll(() => database.drop());

  const valueOf = async (text: string, values: unknown[]) =>
    (await client.query(text, values)).rows as unknown[];

  async function prepared(): Promise<string[]> {
    const { rows } = await client.query<{ statement: string }>(
      'select statement from pg_prepared_statements order by 1',
    );
    return rows.map(({ statement }) => statement);
  }

  it('prepares a text with values at its second use', async () => {
    expect(await valueOf(TWICE, [1])).toEqual([{ value: 2 }]);
    expect(await prepared()).toEqual([]);
    expect(await valueOf(TWICE, [2])).toEqual([{ value: 4 }]);
    expect(await prepared()).toEqual([TWICE]);
    expect(await valueOf(TWICE, [3])).toEqual([{ value: 6 }]);
    await client.query('select 1');
    await client.query('select 1');
    expect(await prepared()).toEqual([TWICE]);
  });

  it('sends texts at once, also the first time', async () => {
    const results = await Promise.all([1, 2, 3, 4].map((value) => valueOf(TWICE, [value])));
    expect(results.flat()).toEqual([2, 4, 6, 8].map((value) => ({ value })));
    expect(await prepared()).toEqual([TWICE]);
  });

  it('prepares again what failed', async () => {
    const division = 'select 1 / $1::integer as value';
    for (let time = 0; time < 3; time++)
      await expect(valueOf(division, [0])).rejects.toThrow('division by zero');
    expect(await valueOf(division, [1])).toEqual([{ value: 1 }]);
    const missing = 'select $1::integer as value from later';
    for (let time = 0; time < 3; time++)
      await expect(valueOf(missing, [1])).rejects.toThrow('does not exist');
    await client.query('create temporary table later (id integer)');
    expect(await valueOf(missing, [1])).toEqual([]);
  });

  it('reads a table that has changed, after one failure', async () => {
    await client.query('create temporary table changing (id integer)');
    const all = 'select * from changing where id > $1';
    for (let time = 0; time < 2; time++) expect(await valueOf(all, [0])).toEqual([]);
    await client.query('alter table changing add name text');
    await expect(valueOf(all, [0])).rejects.toThrow('cached plan must not change result type');
    await client.query('insert into changing values (1, $1)', ['a']);
    expect(await valueOf(all, [0])).toEqual([{ id: 1, name: 'a' }]);
  });

  it('prepares a limited number of texts', async () => {
    for (let number = 0; number < 100; number++)
      for (let time = 0; time < 2; time++) await client.query(`select $1::text as c${number}`, ['x']);
    expect(await prepared()).toHaveLength(60);
  });

  it('calls back', async () => {
    const called = await new Promise((resolve) => {
      client.query(TWICE, [4], (_error: Error | null, { rows }: pg.QueryResult) => {
        resolve(rows);
      });
    });
    expect(called).toEqual([{ value: 8 }]);
  });
});

describe('the process that follows', () => {
  const ldifOf = (name: string) => buildLdif([{ id: 'anna', name }], [{ id: 'club', members: ['anna'] }]);
  let service: WatchedService;
  let client: pg.Client;

  beforeAll(async () => {
    service = await WatchedService.start({ ldif: ldifOf('Anna') });
    const { database } = service.config;
    client = new pg.Client(database.url);
    await client.connect();
  });

  afterAll(async () => {
    await client.end();
    await service.stop();
  });

  async function rename(name: string): Promise<void> {
    service.replaceDirectory(ldifOf(name));
    await eventually(
      async () => (await client.query('select name from users')).rows as unknown[],
      [{ name }],
    );
  }

  it('applies changes after another release has added columns', async () => {
    for (const name of ['Anna 1', 'Anna 2', 'Anna 3']) await rename(name);
    for (const table of ['mirror_state', 'users', 'effective_memberships', 'revisions', 'entries'])
      await client.query(`alter table ${table} add added text`);
    for (const name of ['Anna 4', 'Anna 5']) await rename(name);
  });
});
