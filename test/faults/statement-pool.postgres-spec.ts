import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { createPool, poolOptions, timeLimitsFor } from '../../src/database/connections/pool-options.js';
import { StatementPool } from '../../src/database/connections/statement-pool.js';
import { eventually } from '../support/eventually.js';
import { createDatabase, type TestDatabase } from '../support/servers/store.js';

const LIMITS = timeLimitsFor(5);

let database: TestDatabase;
let pool: pg.Pool;
let statements: StatementPool;

/** Runs a statement, and returns its only value. */
async function sendRequest(text: string, ...values: unknown[]): Promise<unknown> {
  const statement = { name: text.slice(0, 60), text, returnsRevision: false };
  const rows = await statements.read<[unknown]>(statement, values);
  return rows[0]?.[0];
}

const times = <Value>(count: number, make: (index: number) => Value) =>
  Array.from({ length: count }, (_, i) => make(i));
const ECHO = 'select $1::integer';
const BACKEND = 'select pg_backend_pid()';

beforeAll(async () => {
  database = await createDatabase();
});

function open(url: string, max: number): void {
  pool = createPool(url, poolOptions(max, LIMITS));
  statements = new StatementPool(pool, LIMITS);
}

beforeEach(() => {
  open(database.url, 8);
});

afterEach(() => pool.end());
afterAll(() => database.drop());

it('lets a statement fail without the others, and replaces its connection', async () => {
  await pool.end();
  open(database.url, 1);
  const before = await sendRequest(BACKEND);
  const answers = await Promise.allSettled(
    times(20, (index) => sendRequest('select 1 / ($1::integer - 7)', index)),
  );
  const failed = answers.flatMap(({ status }, index) => (status === 'rejected' ? [index] : []));
  expect(failed).toEqual([7]);
  expect(await sendRequest(BACKEND)).not.toBe(before);
});

it('does not wait behind a slow statement', async () => {
  const other = new pg.Client({ connectionString: database.url });
  await other.connect();
  await other.query('select pg_advisory_lock(1)');
  const slow = sendRequest('select pg_advisory_lock(1)::text');
  const order: string[] = [];
  const first = slow.then(() => order.push('slow'));
  for (let index = 0; index < 5; index++) {
    await sleep(30);
    await sendRequest(ECHO, index);
  }
  order.push('others');
  // It takes as long as the lock is held.
  await other.end();
  await first;
  expect(order).toEqual(['others', 'slow']);
});

it('rejects a waiting statement after its connection is lost, and opens another', async () => {
  const backend = await sendRequest(BACKEND);
  const other = new pg.Client({ connectionString: database.url });
  await other.connect();
  const outcomes = Promise.allSettled([sendRequest('select pg_sleep(30)::text')]);
  const isBusy = async () => {
    const busy = `select 1 from pg_stat_activity where pid = $1 and state = 'active' and query like '%sleep%'`;
    return (await other.query(busy, [backend])).rowCount === 1;
  };
  await eventually(isBusy, true);
  await other.query('select pg_terminate_backend($1)', [backend]);
  await other.end();
  expect((await outcomes).map(({ status }) => status)).toEqual(['rejected']);
  expect(await sendRequest(ECHO, 1)).toBe(1);
});

it('rejects all waiting statements if no connection can be opened', async () => {
  await pool.end();
  open('postgres://127.0.0.1:1/none', 8);
  const outcomes = await Promise.allSettled(times(5, (index) => sendRequest(ECHO, index)));
  expect(outcomes.map(({ status }) => status)).toEqual(times(5, () => 'rejected'));
});

describe('a statement', () => {
  const namesOf = () =>
    sendRequest("select coalesce(array_agg(name order by name), '{}') from pg_prepared_statements");

  it('is prepared from its second use on, at most a hundred per connection', async () => {
    const [text, name] = ['select $1::integer + 1', 'select $1::integer + 1'];
    const backend = await sendRequest(BACKEND);
    await namesOf();
    await sendRequest(text, 1);
    expect(await namesOf()).not.toContain(name);
    for (const at of [2, 3, 4]) expect(await sendRequest(text, at)).toBe(at + 1);
    expect(await namesOf()).toContain(name);
    for (const turn of [1, 2]) {
      for (let index = 0; index < 150; index++)
        expect(await sendRequest(`select $1::integer + ${index}`, turn)).toBe(turn + index);
    }
    const names = (await namesOf()) as string[];
    expect(names).toContain('select $1::integer + 149');
    expect(names.length).toBeLessThanOrEqual(100);
    // A connection with the maximum number was replaced.
    expect(await sendRequest(BACKEND)).not.toBe(backend);
    // The new connection prepares the statement again.
    expect(await sendRequest('select $1::integer + 2', 5)).toBe(7);
  });

  it('that is canceled during its preparation does not affect others with the same text', async () => {
    const other = new pg.Client({ connectionString: database.url });
    await other.connect();
    await other.query('create table locked (key integer); insert into locked values (7)');
    const text = 'select key from locked where key = $1::integer';
    expect(await sendRequest(text, 7)).toBe(7);
    const backend = await sendRequest(BACKEND);
    await other.query('begin; lock table locked in access exclusive mode');
    const outcomes = Promise.allSettled(times(3, () => sendRequest(text, 7)));
    const waits = async () => {
      const waiting = `select 1 from pg_stat_activity where pid = $1 and wait_event_type = 'Lock'`;
      return (await other.query(waiting, [backend])).rowCount === 1;
    };
    await eventually(waits, true);
    await other.query('select pg_cancel_backend($1)', [backend]);
    await other.query('commit');
    await other.end();
    const [first, ...rest] = await outcomes;
    expect(first).toMatchObject({ status: 'rejected', reason: { code: 'TIMEOUT' } });
    expect(rest).toEqual([7, 7].map((value) => ({ status: 'fulfilled', value })));
    expect(await sendRequest(text, 7)).toBe(7);
  });
});
