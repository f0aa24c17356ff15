import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { directoryOf } from '../support/clients/monotonic-reader.js';
import { writeClients } from '../support/clients/clients.js';
import { post } from '../support/clients/http.js';
import { eventually } from '../support/eventually.js';
import { TestService } from '../support/servers/service.js';
import { createDatabase } from '../support/servers/store.js';

const NAME = '{ user(user: {id: "p1"}) { name } }';
const PARENTS = '{ group(group: {id: "all"}) { parents(first: 1) { totalCount nodes { id } } } }';

/** The first revision creates indexes, which only the owner of a table may. */
const ownTables = (role: string) => `
  do $$ declare each record;
  begin
    for each in select tablename as name from pg_tables where schemaname = 'public' loop
      execute format('alter table %I owner to ${role}', each.name);
    end loop;
  end $$`;

async function run(url: string, ...statements: string[]): Promise<void> {
  const client = new pg.Client(url);
  await client.connect();
  for (const statement of statements) await client.query(statement);
  await client.end();
}

let asked = 0;

/** A service, and requests to it that are not cached. */
async function start(environment: Record<string, string>) {
  const service = await TestService.start({
    ldif: directoryOf(1),
    environment: { AUTH_EMBEDDED_CLIENTS: writeClients([{ id: 'app', owner: null }]), ...environment },
    compared: false,
  });
  const authorization = await service.accessToken('read directory', 'app');
  const send = (query: string) =>
    post(service, { query: query.replace('{ ', `{ a${++asked}: __typename `) }, { authorization });
  return { service, send, statusOf: async (query: string) => (await send(query)).status };
}

/** Defaults of a role that change the format of instants, bytes and numbers, end sessions, and make transactions fail. */
const ODD_DEFAULTS = {
  datestyle: `'German, DMY'`,
  timezone: `'Africa/Monrovia'`,
  bytea_output: `'escape'`,
  extra_float_digits: '-15',
  default_transaction_isolation: `'serializable'`,
  lock_timeout: `'50ms'`,
  statement_timeout: `'300ms'`,
  idle_session_timeout: `'2s'`,
  track_activities: 'off',
};

describe('a role with unusual defaults', () => {
  it('reads the mirror, and follows the directory', async () => {
    const database = await createDatabase();
    const role = `odd_${Date.now()}`;
    const defaults = Object.entries(ODD_DEFAULTS).map((each) => `alter role ${role} set ${each.join(' = ')}`);
    await run(database.url, `create role ${role} superuser login`, ...defaults);
    const url = new URL(database.url);
    url.username = role;
    const { service, send } = await start({ DATABASE_URL: url.href });
    try {
      // Longer than the idle timeout of the role.
      await sleep(4000);
      service.replaceDirectory(directoryOf(2));
      await eventually(async () => (await send(NAME)).body.includes('p1 of 2'), true);
    } finally {
      await service.stop();
      await run(database.url, `drop owned by ${role} cascade`, `drop role ${role}`);
      await database.drop();
    }
  });
});

describe('a role without the privilege to read one of the tables', () => {
  it('fails operations on the table without naming it, and serves all others', async () => {
    const database = await createDatabase();
    const role = `role_${Date.now()}`;
    await run(
      database.url,
      `create role ${role} login`,
      `grant all on schema public to ${role}`,
      `grant all on all tables in schema public to ${role}`,
      `grant all on all sequences in schema public to ${role}`,
      ownTables(role),
    );
    const url = new URL(database.url);
    url.username = role;
    const { service, send, statusOf } = await start({ DATABASE_URL: url.href });
    try {
      expect([await statusOf(NAME), await statusOf(PARENTS)]).toEqual([200, 200]);
      await run(database.url, `revoke select on nestings from ${role}`);
      const refused = await send(PARENTS);
      expect(refused.body).toMatch(/"INTERNAL_SERVER_ERROR"/);
      expect(refused.body).not.toMatch(/nestings|permission|role_/);
      expect(await statusOf(NAME)).toBe(200);
      await run(database.url, `grant select on nestings to ${role}`);
      await eventually(() => statusOf(PARENTS), 200);
      await run(database.url, `revoke select on mirror_state from ${role}`);
      await eventually(async () => (await send(NAME)).body.includes('"INTERNAL_SERVER_ERROR"'), true);
      expect((await send(NAME)).body).not.toMatch(/mirror_state|permission|role_/);
      await run(database.url, `grant select on mirror_state to ${role}`);
      await eventually(() => statusOf(NAME), 200);
    } finally {
      await service.stop();
      await run(database.url, `drop owned by ${role} cascade`, `drop role ${role}`);
      await database.drop();
    }
  });
});

describe('a database that a newer release has migrated', () => {
  it('works with this release, so that replicas can be replaced one after the other', async () => {
    const database = await createDatabase();
    const first = await start({ DATABASE_URL: database.url });
    await first.service.stop();
    await run(
      database.url,
      `insert into migrations (timestamp, name) values (9999999999999, 'Later9999999999999')`,
      'alter table users add later text',
      'create table later_table (id integer)',
    );
    const { service, send, statusOf } = await start({ DATABASE_URL: database.url });
    try {
      expect([await statusOf(NAME), await statusOf(PARENTS)]).toEqual([200, 200]);
      service.replaceDirectory(directoryOf(2));
      await eventually(async () => (await send(NAME)).body.includes('p1 of 2'), true);
    } finally {
      await service.stop();
      await database.drop();
    }
  });
});
