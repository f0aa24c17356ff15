import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { readConfig } from '../src/config/config.js';
import { DirectoryDataSource } from '../src/database/data-source.js';
import { runCommand, TestProcess } from './support/command.js';
import { buildLdif } from './support/directory.js';
import { createDatabase, type TestDatabase, variable } from './support/store.js';

const PEOPLE = Array.from({ length: 300 }, (_, index) => `person-${index}`);
/** When a synchronisation is killed, as parts of the time that a whole one takes. */
const MOMENTS = [0.4, 0.6, 0.75, 0.85, 0.95];

/** Every person is renamed in each version, and another half of them is in the group. */
function ldifOf(version: number): string {
  return buildLdif(
    PEOPLE.map((id) => ({ id, name: `Version ${version}` })),
    [
      {
        id: 'club',
        name: `Version ${version}`,
        members: PEOPLE.filter((_, index) => index % 2 === version % 2),
      },
      { id: 'all', name: `Version ${version}`, members: ['@club'] },
    ],
  );
}

describe('a synchronisation that is killed', () => {
  let database: TestDatabase;
  let work: string;

  beforeAll(async () => {
    database = await createDatabase();
    work = mkdtempSync(join(variable('TEST_WORK_DIRECTORY'), 'kill-'));
  });

  afterAll(async () => {
    await database.drop();
    rmSync(work, { recursive: true });
  });

  const environment = () => ({
    DATABASE_URL: database.url,
    DIRECTORY_URL: `file:${join(work, 'directory.ldif')}`,
    DIRECTORY_GUARD_PERCENT: '100',
  });

  interface Contents {
    names: string[];
    people: number;
    effective: number;
    counted: number;
    parity: number[];
  }

  /** What the database holds, opened by a process that knows nothing of the killed one. */
  async function readContents(): Promise<Contents | undefined> {
    const dataSource = new DirectoryDataSource(readConfig(environment()).database, []);
    await dataSource.initialize();
    try {
      const [contents]: Contents[] = await dataSource.query(`
        select (select array_agg(distinct name order by name) from (select name from users union select name from groups) n) as names,
          (select count(*)::integer from users) as people,
          (select count(*)::integer from effective_memberships) as effective,
          (select sum(member_count)::integer from groups) as counted,
          (select array_agg(distinct substring(u.id from 8)::integer % 2)
           from effective_memberships m join users u on u.key = m.user_key) as parity`);
      return contents;
    } finally {
      await dataSource.destroy();
    }
  }

  const whole = (version: number): Contents => ({
    names: [`Version ${version}`],
    people: PEOPLE.length,
    effective: PEOPLE.length,
    counted: PEOPLE.length,
    parity: [version % 2],
  });

  it('at any moment leaves what was before or what was to be, and the next one goes on from there', async () => {
    writeFileSync(join(work, 'directory.ldif'), ldifOf(0));
    expect((await runCommand(['sync'], environment())).code).toBe(0);
    writeFileSync(join(work, 'directory.ldif'), ldifOf(1));
    const begun = performance.now();
    expect((await runCommand(['sync'], environment())).code).toBe(0);
    const duration = performance.now() - begun;

    let held = 1;
    for (const [index, moment] of MOMENTS.entries()) {
      const version = index + 2;
      writeFileSync(join(work, 'directory.ldif'), ldifOf(version));
      const killed = TestProcess.start('cli', ['sync'], environment());
      await sleep(moment * duration);
      await killed.kill('SIGKILL');
      const contents = await readContents();
      if (contents?.names[0] === `Version ${version}`) held = version;
      expect(contents).toEqual(whole(held));
    }
    writeFileSync(join(work, 'directory.ldif'), ldifOf(0));
    expect((await runCommand(['sync'], environment())).code).toBe(0);
    expect(await readContents()).toEqual(whole(0));
  }, 300_000);
});
