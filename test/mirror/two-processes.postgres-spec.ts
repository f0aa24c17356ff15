import { fork } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { giveInput } from '../../src/common/child-input.js';
import { readConfig } from '../../src/config/config.js';
import { writeConfigCopy } from '../../src/config/config-copy.js';
import { TestProcess } from '../support/clients/command.js';
import { buildLdif, personDn } from '../support/builders/directory.js';
import { eventually } from '../support/eventually.js';
import { directorySettings } from '../support/servers/ldap.js';
import { findFreePort } from '../support/servers/postgres.mjs';
import { startSlapd, type TestSlapd } from '../support/servers/slapd.mjs';
import { createDatabase, type TestDatabase } from '../support/servers/store.js';
import { sendQuery } from '../support/clients/graphql.js';

/** Whether a process exists and has not ended: its parent may collect it later. */
function isRunning(id: number): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${id}/status`, 'utf8'));
  } catch {
    return false;
  }
}

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

  function followerOf(index: number): { service: TestProcess; follower: number } {
    const service = processes[index]?.process;
    const [follower] = service?.children ?? [];
    if (service === undefined || follower === undefined) throw new Error('It has no follower');
    return { service, follower };
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

  it('answer requests while the process that follows is blocked', async () => {
    const { follower } = followerOf(0);
    process.kill(follower, 'SIGSTOP');
    try {
      for (let time = 0; time < 20; time++) expect(await nameAt(0)).toBe('Anna Berg');
    } finally {
      process.kill(follower, 'SIGCONT');
    }
  });

  it('start a killed process that follows again', async () => {
    const { service, follower } = followerOf(0);
    process.kill(follower, 'SIGKILL');
    await service.untilPrinted(
      /The process that follows the directory has ended \(SIGKILL\): it starts again in 0 ms/,
    );
    await rename('Anna Lind');
    for (const index of [0, 1]) await eventually(() => nameAt(index), 'Anna Lind');
    await eventually(() => Promise.resolve(service.children.length), 1);
    expect(service.children).not.toContain(follower);
  });

  it('continue with the other one when the first is killed, whose follower ends', async () => {
    const { service, follower } = followerOf(0);
    await service.kill('SIGKILL');
    await eventually(() => Promise.resolve(isRunning(follower)), false);
    await rename('Anna Holm');
    await eventually(() => nameAt(1), 'Anna Holm');
  });

  it('end a follower whose parent ended while it loaded its modules', async () => {
    const env = { ...process.env, ...directorySettings(slapd), DATABASE_URL: database.url };
    const follower = fork('dist/bundled/follower.js', ['openldap'], {
      env,
      stdio: ['ignore', 'ignore', 'ignore', 'ipc', 'pipe'],
    });
    giveInput(follower, writeConfigCopy(readConfig(env)));
    follower.disconnect();
    expect(await once(follower, 'exit')).toEqual([1, null]);
  });
});
