import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { buildLdif } from '../support/builders/directory.js';
import { repetitions } from '../support/repetitions.js';
import { spawnBound } from '../support/spawn-bound.mjs';
import { createDatabase, type TestDatabase, variable } from '../support/servers/store.js';

const KILLS = repetitions({ usually: 5, long: 52 });
/** Maximum number of revisions before a kill. */
const MOST_REVISIONS = 4;
const PEOPLE = Array.from({ length: 200 }, (_, index) => `person-${index}`);

/** In each version, all users have other names, and another half of them is in the groups. */
function ldifOf(version: number): string {
  return buildLdif(
    PEOPLE.map((id) => ({ id, name: `Version ${version}` })),
    [
      { id: 'club', members: PEOPLE.filter((_, index) => index % 2 === version) },
      { id: 'all', members: ['@club'] },
    ],
  );
}

describe('a process that applies revisions continuously', () => {
  let database: TestDatabase;
  let client: pg.Client;
  let work: string;

  beforeAll(async () => {
    database = await createDatabase();
    client = new pg.Client(database.url);
    await client.connect();
    work = mkdtempSync(join(variable('TEST_WORK_DIRECTORY'), 'kill-'));
    for (const version of [0, 1]) writeFileSync(join(work, `${version}.ldif`), ldifOf(version));
  });

  afterAll(async () => {
    await client.end();
    await database.drop();
    rmSync(work, { recursive: true });
  });

  function start(): ChildProcess {
    const files = [0, 1].map((version) => join(work, `${version}.ldif`));
    return spawnBound(process.execPath, ['test/support/servers/synchronize-forever.mjs', ...files], {
      env: { PATH: process.env.PATH, DATABASE_URL: database.url, DIRECTORY_GUARD_PERCENT: '100' },
      stdio: ['ignore', 'pipe', 'inherit'],
      timeout: 600_000,
      killSignal: 'SIGKILL',
    });
  }

  /** The current content, each value with its values in a whole revision of either version. */
  async function readContents() {
    const { rows } = await client.query<Record<string, unknown>>(`
      select (select array_agg(distinct name) from users) as names,
        (select array_agg(distinct substring(u.id from 8)::integer % 2)
         from effective_memberships m join users u on u.key = m.user_key) as halves,
        (select count(*)::integer from effective_memberships) as effective,
        (select sum(member_count)::integer from groups) as counted,
        (select sum(group_count)::integer from users) as held,
        (select count(*)::integer from memberships) as direct,
        (select revision = (select max(id) from revisions) from mirror_state) as latest,
        (select count(distinct user_key)::integer from changes where revision = (select max(id) from revisions)) as reported`);
    return rows[0];
  }

  const whole = (version: number) => ({
    names: [`Version ${version}`],
    halves: [version],
    effective: PEOPLE.length,
    counted: PEOPLE.length,
    held: PEOPLE.length,
    direct: PEOPLE.length / 2,
    latest: true,
    reported: PEOPLE.length,
  });

  it(`leaves whole revisions when it is killed at any time, and the next process continues: ${KILLS} times`, async () => {
    const seen = new Set<number>();
    for (let kill = 0; kill < KILLS; kill++) {
      const child = start();
      const ended = once(child, 'exit');
      if (child.stdout === null) throw new Error('It says nothing');
      const lines = createInterface(child.stdout);
      let begun = 0;
      for (let left = 1 + Math.floor(Math.random() * MOST_REVISIONS); left > 0; left--) {
        begun = performance.now();
        await Promise.race([once(lines, 'line'), ended]);
      }
      // At a random time in the next revision, which takes about as long as the last one.
      await sleep(Math.random() * (performance.now() - begun));
      child.kill('SIGKILL');
      expect(await ended).toEqual([null, 'SIGKILL']);
      const contents = await readContents();
      const version = JSON.stringify(contents?.['halves']) === '[0]' ? 0 : 1;
      seen.add(version);
      expect(contents).toEqual(whole(version));
    }
    expect([...seen].sort()).toEqual([0, 1]);
  });
});
