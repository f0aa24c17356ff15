import { TestProcess } from '../support/clients/command.js';
import { buildLdif, personDn } from '../support/builders/directory.js';
import { eventually } from '../support/eventually.js';
import { directorySettings } from '../support/servers/ldap.js';
import { findFreePort } from '../support/servers/postgres.mjs';
import { startSlapd, type TestSlapd } from '../support/servers/slapd.mjs';
import { createDatabase, type TestDatabase } from '../support/servers/store.js';
import { sendQuery } from '../support/clients/graphql.js';

const WAITING = /Another process runs the synchronization/;

describe('two processes on one database', () => {
  let slapd: TestSlapd;
  let database: TestDatabase;
  const processes: { process: TestProcess; url: string }[] = [];
  let token: string;

  beforeAll(async () => {
    slapd = await startSlapd({ ldif: buildLdif([{ id: 'anna', name: 'Anna' }]) });
    database = await createDatabase();
    const { stdout } = await TestProcess.start(
      'cli',
      ['service-account', 'create', '--id', 'test', '--name', 'Test', '--scopes', 'read', '--json'],
      { DATABASE_URL: database.url },
    ).end();
    ({ token } = JSON.parse(stdout) as { token: string });
    for (let index = 0; index < 2; index++) {
      const port = String(await findFreePort());
      const environment = { ...directorySettings(slapd), DATABASE_URL: database.url, PORT: port };
      const process = TestProcess.start('main', [], environment);
      await process.untilPrinted(/Ready at/);
      processes.push({ process, url: `http://127.0.0.1:${port}` });
    }
  });

  afterAll(async () => {
    for (const { process } of processes) await process.kill('SIGKILL');
    await database.drop();
    await slapd.remove();
  });

  async function rename(name: string): Promise<void> {
    const record = `dn: ${personDn('anna')}\nchangetype: modify\nreplace: displayName\ndisplayName: ${name}\n`;
    expect((await slapd.modify(record)).code).toBe(0);
  }

  async function nameAt(index: number): Promise<string | undefined> {
    const url = processes[index]?.url ?? '';
    const { data } = await sendQuery<{ user?: { name: string } }>(
      url,
      '{ user(user: {id: "anna"}) { name } }',
      {
        authorization: `Basic ${token}`,
      },
    );
    return data?.user?.name;
  }

  it('follow the directory one at a time, and both serve the same revision', async () => {
    const [first, second] = processes;
    expect(first?.process.stdout).not.toMatch(WAITING);
    await second?.process.untilPrinted(WAITING);
    // Cached by both, and invalidated by both.
    await eventually(() => nameAt(1), 'Anna');
    await rename('Anna Berg');
    await eventually(() => nameAt(0), 'Anna Berg');
    await eventually(() => nameAt(1), 'Anna Berg');
  });

  it('continue with the other one when the first is killed', async () => {
    await processes[0]?.process.kill('SIGKILL');
    await rename('Anna Holm');
    await eventually(() => nameAt(1), 'Anna Holm');
  });
});
