import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { DataSource } from 'typeorm';
import type { Environment } from '../../src/config/config.js';
import { MIGRATIONS } from '../../src/database/migrations/migrations.js';
import { runCommand, TestProcess } from '../support/clients/command.js';
import { buildLdif, groupDn, personDn, type TestPerson } from '../support/builders/directory.js';
import { eventually } from '../support/eventually.js';
import { findFreePort } from '../support/servers/postgres.mjs';
import { createDatabase, type TestDatabase, variable } from '../support/servers/store.js';

const PEOPLE: TestPerson[] = ['anna', 'ben', 'cleo', 'dan', 'eve'].map((id) => ({ id }));
const SECRET = 'ab'.repeat(32);

let work: string;
let database: TestDatabase;
let environment: Environment;

beforeAll(async () => {
  work = mkdtempSync(join(variable('TEST_WORK_DIRECTORY'), 'commands-'));
  database = await createDatabase();
  environment = {
    PORT: String(await findFreePort()),
    DATABASE_URL: database.url,
    DIRECTORY_URL: `file:${join(work, 'directory.ldif')}`,
    URL_SIGNING_KEYS: SECRET,
  };
  writeDirectory(PEOPLE);
});

afterAll(async () => {
  await database.drop();
  rmSync(work, { recursive: true });
});

function writeDirectory(people: TestPerson[]): void {
  writeFileSync(join(work, 'directory.ldif'), buildLdif(people, [{ id: 'club', members: ['anna'] }]));
}

function run(...args: string[]): Promise<TestProcess> {
  return runCommand(args, environment);
}

function json(process: TestProcess): Record<string, unknown> {
  return JSON.parse(process.stdout) as Record<string, unknown>;
}

describe('directory sync', () => {
  it('prints a dry run in text and in JSON, without changes', async () => {
    const text = await run('sync', '--dry-run');
    expect(text.code).toBe(0);
    const answer = json(await run('sync', '--dry-run', '--json'));
    expect(text.stdout.trimEnd().split('\n')).toEqual([
      'users +5 ~0 -0, groups +1 ~0 -0, memberships +1 ~0 -0, nestings +0 ~0 -0',
      ...['Users', ...PEOPLE.map(({ id }) => `  + ${id}  ${id}  ${personDn(id)}`)],
      ...['Groups', `  + club  club  ${groupDn('club')}`],
      ...['Members', '  club: + anna MEMBER'],
      'Left out: 0 quarantined, 0 dangling',
      `Plan ${answer.hash as string}`,
    ]);
    expect(answer).toEqual({
      kind: 'planned',
      blockedReason: null,
      hash: expect.stringMatching(/^[0-9a-f]{64}$/) as string,
      counts: {
        users: { created: 5, updated: 0, deleted: 0 },
        groups: { created: 1, updated: 0, deleted: 0 },
        memberships: expect.objectContaining({ created: 1, updated: 0, deleted: 0 }) as object,
        nestings: { created: 0, updated: 0, deleted: 0 },
      },
      users: {
        created: PEOPLE.map(({ id }) => ({ id, name: id, dn: personDn(id) })),
        updated: [],
        deleted: [],
      },
      groups: { created: [{ id: 'club', name: 'club', dn: groupDn('club') }], updated: [], deleted: [] },
      memberships: [{ group: 'club', user: 'anna', before: null, after: 'MEMBER' }],
      nestings: [],
      quarantined: [],
      dangling: [],
    });
  });

  it('synchronizes the directory, holds a mass deletion, and applies a confirmed one once', async () => {
    expect((await run('sync')).stdout).toMatch(/^Revision 1: users \+5/);
    expect((await run('sync')).stdout).toBe('Nothing has changed.\n');

    writeDirectory(PEOPLE.slice(0, 1));
    const held = await run('sync');
    expect(held.code).toBe(1);
    const hash = /--confirm ([0-9a-f]{64})/.exec(held.stdout)?.[1] ?? '';
    expect(held.stdout).toContain('Blocked: It would delete 4 of 5 users: at most 3 are let through.');
    expect((await run('check')).stdout).toContain(`./directory sync --confirm ${hash}\n`);
    const looked = await run('sync', '--dry-run');
    expect(looked.code).toBe(0);
    const [summary = '', plan = '', blocked = ''] = held.stdout.split('\n');
    const listed = looked.stdout.replace('It would be blocked: ', 'Blocked: ').split('\n');
    expect(listed).toEqual(
      expect.arrayContaining([summary, plan, blocked, `  - eve  eve  ${personDn('eve')}`]),
    );
    // A run that is blocked again says why, too.
    expect((await run('sync')).stdout).toBe(held.stdout);

    const wrong = await run('sync', '--confirm', 'f'.repeat(64));
    expect(wrong.code).toBe(1);
    expect(wrong.stdout).toBe(
      `Nothing was changed: These are not the changes to confirm: their hash is ${hash} now\n`,
    );

    const right = await run('sync', '--confirm', hash);
    expect(right.code).toBe(0);
    expect(right.stdout).toMatch(/^Revision 2: users \+0 ~0 -4/);
    const again = await run('sync', '--confirm', hash);
    expect([again.code, again.stdout]).toEqual([
      1,
      'Nothing was changed: There is nothing left to confirm: the mirror equals the directory\n',
    ]);
  });

  it('fails with the reason if the file is invalid', async () => {
    writeFileSync(join(work, 'directory.ldif'), 'nonsense\n');
    const broken = await run('sync', '--json');
    const checked = await run('check');
    writeDirectory(PEOPLE.slice(0, 1));
    expect(broken.code).toBe(1);
    expect(json(broken)).toMatchObject({
      kind: 'failed',
      reason: expect.stringMatching(/^LDIF line 1: /) as string,
    });
    expect(checked.code).toBe(1);
    expect(checked.stdout).toMatch(/\nPROBLEM {2}directory file: \S+directory\.ldif: LDIF line 1: /);
    expect((await run('sync')).code).toBe(0);
  });

  it('fails with a message when the database ends its connections', async () => {
    const admin = new pg.Client(database.url);
    await admin.connect();
    await admin.query('begin; lock table entries');
    const interrupted = run('sync');
    const end = `select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock'`;
    await eventually(async () => {
      // The list of sessions is otherwise that of the first statement of the transaction.
      await admin.query('select pg_stat_clear_snapshot()');
      return ((await admin.query(end)).rowCount ?? 0) > 0;
    }, true);
    const { code, stdout, stderr } = await interrupted;
    await admin.end();
    expect([code, stdout, stderr]).toEqual([1, '', 'The database cannot be reached at the moment\n']);
    expect((await run('sync')).code).toBe(0);
  });
});

describe('directory check', () => {
  it('reports no problem, and prints no secret', async () => {
    const checked = await run('check');
    expect(checked.code).toBe(0);
    expect(checked.stdout).not.toContain('PROBLEM');
    expect(checked.stdout).toMatch(/\nok {7}people: 1 below ou=people,\S+\nok {7}groups: 1 below ou=groups,/);
    expect(checked.stdout).toContain('ok       database\n');
    expect(checked.stdout).toMatch(/\nok {7}mirror: IDLE, as of 20/);
    expect(checked.stdout).toContain('  URL_SIGNING_KEYS=(set)');
    expect(checked.stdout).not.toContain(SECRET);
    expect(checked.stdout).not.toContain(database.url);
  });
});

describe('directory check of a database', () => {
  async function findingsOf(settings: Environment): Promise<Record<string, unknown>[]> {
    const checked = await runCommand(['check', '--json'], { ...environment, ...settings });
    return json(checked).findings as Record<string, unknown>[];
  }
  const ofDatabase = (findings: readonly Record<string, unknown>[]) =>
    findings.filter(({ what }) => what === 'database');

  it('changes nothing in an empty one', async () => {
    const empty = await createDatabase('template0');
    const client = new pg.Client(empty.url);
    await client.connect();
    try {
      const findings = await findingsOf({ DATABASE_URL: empty.url });
      expect(ofDatabase(findings)).toEqual([
        { what: 'database', result: 'ok', text: 'empty: the first start creates the tables', fix: null },
      ]);
      const { rows } = await client.query(`select from pg_class where relnamespace = 'public'::regnamespace`);
      expect(rows).toEqual([]);
    } finally {
      await client.end();
      await empty.drop();
    }
  });

  it('changes nothing in one of an earlier release', async () => {
    const earlier = await createDatabase('template0');
    const release = new DataSource({
      type: 'postgres',
      url: earlier.url,
      migrations: [...MIGRATIONS],
    });
    await release.initialize();
    try {
      await release.runMigrations({ transaction: 'each' });
      // As if this release had another migration.
      await release.query("update migrations set name = 'Earlier1763683200000'");
      const readSchema = () =>
        release.query('select table_name, column_name from information_schema.columns order by 1, 2');
      const before: unknown = await readSchema();
      const findings = await findingsOf({ DATABASE_URL: earlier.url });
      expect(ofDatabase(findings)).toMatchObject([
        {
          result: 'ok',
          text: 'of an earlier release: the next start migrates it (1 steps)',
        },
      ]);
      expect(findings.map(({ result }) => result)).not.toContain('problem');
      expect(await readSchema()).toEqual(before);
    } finally {
      await release.destroy();
      await earlier.drop();
    }
  });

  it('has a remedy for each cause', async () => {
    const url = new URL(database.url);
    const fixOf = async (change: (changed: URL) => void) => {
      const changed = new URL(url);
      change(changed);
      const [finding] = ofDatabase(await findingsOf({ DATABASE_URL: changed.href }));
      expect(finding).toMatchObject({ result: 'problem' });
      return finding?.['fix'];
    };
    expect(await fixOf((changed) => (changed.hostname = 'database.invalid'))).toMatch(
      /host name in DATABASE_URL|PostgreSQL/,
    );
    expect(await fixOf((changed) => (changed.port = '1'))).toMatch(
      /^Start PostgreSQL, or correct host and port/,
    );
    expect(await fixOf((changed) => (changed.pathname = '/nothing'))).toMatch(/^Create the database/);
    const empty = await createDatabase('template0');
    const client = new pg.Client(empty.url);
    await client.connect();
    try {
      await client.query(`create role reader_of_check login`);
      const withoutRights = await fixOf((changed) => {
        changed.username = 'reader_of_check';
        changed.pathname = new URL(empty.url).pathname;
      });
      expect(withoutRights).toMatch(/^Make the role the owner of the database/);
      await client.query(`drop role reader_of_check`);
    } finally {
      await client.end();
      await empty.drop();
    }
  });
});

describe('a variable that is similar to a setting', () => {
  const misspelled = { DIRECTORY_BASEDN: 'dc=example,dc=org' };
  const hint = 'DIRECTORY_BASEDN is not a setting, and has no effect: did you mean DIRECTORY_BASE_DN?';

  it('is a warning of every command, and prevents none', async () => {
    const listed = await runCommand(['service-account', 'list', '--json'], { ...environment, ...misspelled });
    expect([listed.code, listed.stdout, listed.stderr]).toEqual([0, '[]\n', `${hint}\n`]);
    const checked = await runCommand(['check'], { ...environment, ...misspelled });
    expect([checked.code, checked.stderr]).toEqual([0, '']);
    expect(checked.stdout.split('\n').slice(1, 3)).toEqual([
      `WARNING  settings: ${hint}`,
      expect.stringMatching(/^ +→ Correct the variable/),
    ]);
    // The remedy of both is printed once.
    const both = await runCommand(['check'], { ...environment, ...misspelled, DIRECTORY_URLS: 'x' });
    expect(both.stdout.split('\n').slice(1, 4)).toEqual([
      ...['DIRECTORY_BASEDN', 'DIRECTORY_URLS'].map((each) => expect.stringContaining(each) as string),
      expect.stringMatching(/^ +→ Correct the variable/),
    ]);
  });
});

describe('directory serve', () => {
  it('logs its build and settings first, and the begin and the end of its shutdown last', async () => {
    const service = TestProcess.start('cli', ['serve'], { ...environment, DIRECTORY_BASEDN: 'x' });
    await service.untilPrinted(/Ready at/);
    const { code, stdout } = await service.kill('SIGTERM');
    const lines = stdout.trimEnd().split('\n');
    expect([code, lines[0]]).toEqual([
      0,
      expect.stringMatching(
        /^\S+ INFO {2}\[Service\] Version \d+\.\d+\.\d+, commit (\w+), Node\.js \d[\d.]+; settings other than the defaults:$/,
      ),
    ]);
    const settings = lines.slice(
      1,
      lines.findIndex((line) => line.includes('DIRECTORY_BASEDN')),
    );
    expect(settings).toEqual([
      `  PORT=${environment['PORT'] ?? ''}`,
      '  WORKERS=1',
      '  LOG_FORMAT=text',
      '  LOG_REQUESTS=false',
      '  DATABASE_URL=(set)',
      `  DIRECTORY_URL=${environment['DIRECTORY_URL'] ?? ''}`,
      '  URL_SIGNING_KEYS=(set)',
    ]);
    expect(lines.find((line) => line.includes('DIRECTORY_BASEDN'))).toMatch(
      / WARN .* did you mean DIRECTORY_BASE_DN\?$/,
    );
    const begin = lines.findIndex((line) => line.endsWith('[Service] The shutdown begins: SIGTERM'));
    expect(begin).toBeGreaterThan(lines.findIndex((line) => line.includes('Ready at')));
    expect(lines.at(-1)).toMatch(/\[Service\] The shutdown is complete$/);
  });

  it('notices the result of a concurrent sync, and continues', async () => {
    const service = TestProcess.start('cli', ['serve'], environment);
    await service.untilPrinted(/Ready at/);
    writeDirectory([{ id: 'anna', name: 'Renamed' }]);
    const beside = await run('sync');
    const ended = await service.kill('SIGTERM');
    expect(ended.code).toBe(0);
    expect([beside.code, beside.stderr]).toEqual([0, '']);
    expect(beside.stdout).toMatch(/^(Revision \d+: people \+0 ~1 -0|Nothing has changed)/);
  });
});
