import pg from 'pg';
import { buildLdif, personDn } from '../support/builders/directory.js';
import { TestProcess } from '../support/clients/command.js';
import { eventually } from '../support/eventually.js';
import { directorySettings } from '../support/servers/ldap.js';
import { findFreePort } from '../support/servers/postgres.mjs';
import { startSlapd, type TestSlapd } from '../support/servers/slapd.mjs';
import { createDatabase, type TestDatabase } from '../support/servers/store.js';

const READ_WAITING = `select count(*)::integer as count from pg_stat_activity
  where datname = current_database() and wait_event_type = 'Lock' and query like '%''RUNNING''%'`;

describe('a whole reading during which another process applies a revision', () => {
  let slapd: TestSlapd;
  let database: TestDatabase;
  let client: pg.Client;
  let other: pg.Client;

  beforeAll(async () => {
    slapd = await startSlapd({ ldif: buildLdif([{ id: 'anna', name: 'Anna' }]) });
    database = await createDatabase();
    client = new pg.Client(database.url);
    other = new pg.Client(database.url);
    await client.connect();
    await other.connect();
  });

  afterAll(async () => {
    await client.end();
    await other.end();
    await database.drop();
    await slapd.remove();
  });

  async function start(): Promise<TestProcess> {
    return TestProcess.start('main', [], {
      ...directorySettings(slapd),
      DATABASE_URL: database.url,
      PORT: String(await findFreePort()),
    });
  }

  const rename = (name: string) =>
    slapd.modify(`dn: ${personDn('anna')}\nchangetype: modify\nreplace: displayName\ndisplayName: ${name}\n`);

  async function readRows(text: string): Promise<unknown> {
    const { rows } = await client.query<Record<string, unknown>>(text);
    return rows;
  }

  const readMirror = () => readRows('select state, name from mirror_state s, users where s.reason is null');

  it('is made again over a new session, and the directory is followed', async () => {
    const first = await start();
    await first.untilPrinted(/Ready at/);
    await first.kill('SIGTERM');
    await rename('Anna Berg');
    // The next start has to read everything.
    await client.query('update mirror_state set source_position = null');

    await other.query('begin');
    await other.query('select from mirror_state for update');
    const second = await start();
    try {
      // The reading notes that it begins. It has read which revision there is, and waits.
      await eventually(() => readRows(READ_WAITING), [{ count: 1 }]);
      await other.query(`with new as (update revisions set uuid = gen_random_uuid() returning uuid)
        update mirror_state set revision_uuid = new.uuid from new`);
      await other.query('commit');

      await eventually(readMirror, [{ state: 'IDLE', name: 'Anna Berg' }]);
      await rename('Anna Lind');
      await eventually(readMirror, [{ state: 'IDLE', name: 'Anna Lind' }]);
      expect(second.stdout).not.toMatch(/Synchronization (?:fails|was interrupted)/);
    } finally {
      await second.kill('SIGKILL');
    }
  });
});
