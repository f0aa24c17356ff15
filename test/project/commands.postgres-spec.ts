import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Environment } from '../../src/config/config.js';
import { runCommand, TestProcess } from '../support/clients/command.js';
import { buildLdif, groupDn, personDn, type TestPerson } from '../support/builders/directory.js';
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
      ...['Users', ...PEOPLE.map(({ id }) => `  + ${id}  ${id}  ${personDn(id)}`)],
      ...['Groups', `  + club  club  ${groupDn('club')}`],
      ...['Members', '  + club: anna MEMBER'],
      'users +5 ~0 -0, groups +1 ~0 -0, memberships +1 ~0 -0, nestings +0 ~0 -0',
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
        created: PEOPLE.map(({ id }) => ({ id, name: id, formerId: null, dn: personDn(id), fields: [] })),
        updated: [],
        deleted: [],
      },
      groups: {
        created: [{ id: 'club', name: 'club', formerId: null, dn: groupDn('club'), fields: [] }],
        updated: [],
        deleted: [],
      },
      memberships: [{ group: 'club', user: 'anna', before: null, after: 'MEMBER' }],
      nestings: [],
      quarantined: [],
      dangling: [],
    });
  });

  it('synchronizes the directory, holds a mass deletion, and applies a confirmed one once', async () => {
    expect((await run('sync')).stdout).toMatch(
      /^In the database «\w+» at 127\.0\.0\.1:\d+: Revision 1: users \+5/,
    );
    expect((await run('sync')).stdout).toBe('Nothing has changed.\n');

    writeDirectory(PEOPLE.slice(0, 1));
    const held = await run('sync');
    expect(held.code).toBe(1);
    const hash = /--confirm ([0-9a-f]{64})/.exec(held.stderr)?.[1] ?? '';
    const reason = 'It would delete 4 of 5 users. The guard permits 3 within 10 minutes';
    expect(held.stderr).toContain(`error: The plan is blocked. ${reason}\n`);
    expect((await run('check')).stdout).toContain(`./directory sync --confirm ${hash}\n`);
    const looked = await run('sync', '--dry-run');
    expect(looked.code).toBe(0);
    const [summary = '', plan = ''] = held.stdout.split('\n');
    const blocked = `It would be blocked. ${reason}.`;
    expect(looked.stdout.split('\n')).toEqual(
      expect.arrayContaining([summary, plan, blocked, `  - eve  eve  ${personDn('eve')}`]),
    );
    // A run that is blocked again says why, too.
    expect((await run('sync')).stderr).toBe(held.stderr);

    const wrong = await run('sync', '--confirm', 'f'.repeat(64));
    expect(wrong.code).toBe(1);
    expect(wrong.stderr).toBe(
      `error: Nothing was changed. These are not the changes to confirm: their hash is ${hash} now\n`,
    );

    const right = await run('sync', '--confirm', hash);
    expect(right.code).toBe(0);
    expect(right.stdout).toMatch(/: Revision 2: users \+0 ~0 -4/);
    const again = await run('sync', '--confirm', hash);
    expect([again.code, again.stderr]).toEqual([
      1,
      'error: Nothing was changed. There is nothing left to confirm: the mirror equals the directory\n',
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
});

describe('directory check', () => {
  it('reports no problem, and prints no secret', async () => {
    const checked = await run('check');
    expect(checked.code).toBe(0);
    expect(checked.stdout).not.toContain('PROBLEM');
    expect(checked.stdout).toMatch(/\nok {7}users: 1 below ou=people,\S+\nok {7}groups: 1 below ou=groups,/);
    expect(checked.stdout).toContain('ok       database\n');
    expect(checked.stdout).toMatch(/\nok {7}mirror: IDLE, as of 20/);
    expect(checked.stdout).not.toContain(SECRET);
    expect(checked.stdout).not.toContain(database.url);
  });
});

describe('directory status', () => {
  it('shows the state of the mirror, and its last changes', async () => {
    const text = await run('status');
    expect([text.code, text.stdout]).toEqual([
      0,
      expect.stringMatching(/^The mirror in the database [^\n]+\nstate {8}IDLE\nasOf {9}20/),
    ]);
    expect(text.stdout).toMatch(/\nprocesses {4}0\n[^]*\nLast changes\n {2}20\S+ {2}USER_DELETED {2}/);
    const status = json(await run('status', '--json'));
    expect(status).toMatchObject({ state: 'IDLE', users: 1, groups: 1, processes: 0, leader: null });
    expect(status['changes']).toHaveLength(4);
  });
});

describe('directory webhook list', () => {
  it('shows the receivers without the paths of their addresses', async () => {
    const file = join(work, 'webhooks.yaml');
    const secret = `whsec_${Buffer.alloc(24, 1).toString('base64')}`;
    writeFileSync(
      file,
      `targets: [{id: forum, url: "https://forum.example.org/${SECRET}", secret: "${secret}"}]\n`,
    );
    const listed = await runCommand(['webhook', 'list'], { ...environment, DIRECTORY_WEBHOOKS: file });
    expect([listed.code, listed.stdout.split('\n')]).toEqual([
      0,
      [
        'ID     STATE  ORIGIN                     FAILURE',
        'forum  new    https://forum.example.org  none',
        '',
      ],
    ]);
    expect((await run('webhook', 'list')).stdout).toMatch(/^There is no webhook/);
  });
});

describe('directory serve', () => {
  it('logs its build first, and the begin of its shutdown', async () => {
    const service = TestProcess.start('cli', ['serve'], environment);
    await service.untilPrinted(/Ready at/);
    const { code, stdout } = await service.kill('SIGTERM');
    const lines = stdout.trimEnd().split('\n');
    expect([code, lines[0]]).toEqual([
      0,
      expect.stringMatching(
        /^\S+ INFO {2}\[Service\] Version \d+\.\d+\.\d+, commit (\w+), Node\.js \d[\d.]+$/,
      ),
    ]);
    expect(lines.slice(1).join('\n')).toMatch(/Ready at[^]*\[Service\] The shutdown begins: SIGTERM/);
  });
});
