import sharp from 'sharp';
import type { Environment } from '../../src/config/config.js';
import { MirrorState } from '../../src/mirror/status/mirror-state.js';
import { modelSetting } from '../support/builders/model-file.js';
import { runCommand, type TestProcess } from '../support/clients/command.js';
import { buildLdif, groupDn, personDn } from '../support/builders/directory.js';
import { eventually } from '../support/eventually.js';
import { directorySettings, FollowedDirectory } from '../support/servers/ldap.js';
import { readStatus } from '../support/clients/mirror.js';
import { findFreePort } from '../support/servers/postgres.mjs';
import { startSlapd, SUFFIX, type TestSlapd } from '../support/servers/slapd.mjs';
import { createDatabase, type TestDatabase } from '../support/servers/store.js';

interface Answer extends Record<string, unknown> {
  kind: string;
  hash: string;
}

function json({ stdout }: TestProcess): Answer {
  return JSON.parse(stdout) as Answer;
}

describe('the commands on a directory server', () => {
  let slapd: TestSlapd;
  let database: TestDatabase;

  beforeAll(async () => {
    const people = ['anna', 'ben', 'cleo', 'dan', 'eve'].map((id) => ({ id, name: `Name of ${id}` }));
    const groups = [
      { id: 'club', members: ['anna', 'ben', 'dan'], admins: ['anna'] },
      { id: 'old', members: ['anna'] },
      { id: 'team', members: ['eve'] },
    ];
    slapd = await startSlapd({ ldif: buildLdif(people, groups) });
    database = await createDatabase();
  });

  afterAll(async () => {
    await slapd.remove();
    await database.drop();
  });

  async function run(args: string[], more: Environment = {}): Promise<TestProcess> {
    const port = String(await findFreePort());
    return runCommand(args, { PORT: port, DATABASE_URL: database.url, ...directorySettings(slapd), ...more });
  }

  it.each([
    ['the server is unreachable', { DIRECTORY_URL: 'ldap://127.0.0.1:1' }, 'No connection to 127.0.0.1:1'],
    ['the password is wrong', { DIRECTORY_BIND_PASSWORD: 'guessed' }, 'rejects the bind of cn=mirror,'],
    [
      'there is no user below the base',
      modelSetting('users: {base: ou=staff}'),
      `noSuchObject (32) for the base ou=staff,${SUFFIX}`,
    ],
  ])('fail with the reason if %s', async (_, settings, reason) => {
    const failed = await run(['sync'], settings);
    expect([failed.code, failed.stderr]).toEqual([1, '']);
    expect(failed.stdout).toMatch(/^Nothing was changed: .*\n\.\/directory check finds the cause\n$/);
    expect(failed.stdout).toContain(reason);
    expect(failed.stdout).not.toContain('guessed');
  });

  it('report a base that is not a DN as wrong usage', async () => {
    const failed = await run(['sync'], modelSetting('users: {base: staff}'));
    expect([failed.code, failed.stdout]).toEqual([2, '']);
    expect(failed.stderr).toMatch(/^\S+model\.yaml:1:15: users\.base is an invalid DN: [^\n]+\n$/);
  });

  it('check the server, and synchronize it', async () => {
    const checked = await run(['check', '--json']);
    // Commands that fail do not change the state of the mirror.
    expect(checked.code).toBe(0);
    expect(json(checked).findings).toEqual(
      expect.arrayContaining([
        { what: 'people', result: 'ok', text: `5 below ou=people,${SUFFIX}`, fix: null },
        expect.objectContaining({ what: 'mirror', result: 'ok' }),
      ]),
    );
    const synced = await run(['sync']);
    expect([synced.code, synced.stderr]).toEqual([0, '']);
    expect(synced.stdout).toMatch(/^Revision 1: users \+5 ~0 -0, groups \+3 ~0 -0, memberships \+5 ~0 -0,/);
    const again = await run(['check']);
    expect(again.code).toBe(0);
    expect(again.stdout).toMatch(/\nok {7}mirror: IDLE/);
    expect(again.stdout).not.toMatch(/\n(WARNING|PROBLEM)/);
  });

  it('report what would change: ids, names, DNs, fields and roles, and the members without an entry', async () => {
    const modify = (dn: string, ...lines: string[]) =>
      [`dn: ${dn}`, 'changetype: modify', ...lines, ''].join('\n');
    const photo = await sharp({ create: { width: 8, height: 8, channels: 3, background: 'teal' } })
      .jpeg()
      .toBuffer();
    const { code, stderr } = await slapd.modify(
      [
        modify(personDn('anna'), 'replace: cn', 'cn: Anna Berg', '-', 'add: mail', 'mail: a@example.org'),
        `dn: ${personDn('ben')}\nchangetype: modrdn\nnewrdn: uid=benjamin\ndeleteoldrdn: 1\n`,
        modify(personDn('cleo'), 'add: jpegPhoto', `jpegPhoto:: ${photo.toString('base64')}`),
        `dn: ${personDn('dan')}\nchangetype: delete\n`,
        `dn: ${personDn('finn')}\nchangetype: add\nobjectClass: inetOrgPerson\nuid: finn\ncn: Finn\nsn: Finn\n`,
        modify(
          groupDn('club'),
          ...[
            'replace: owner',
            `owner: ${personDn('anna')}`,
            '-',
            'add: member',
            `member: ${groupDn('team')}`,
            '-',
          ],
          ...['delete: member', `member: ${personDn('ben')}`],
        ),
        modify(groupDn('team'), 'replace: description', 'description: All of us'),
        `dn: ${groupDn('old')}\nchangetype: delete\n`,
      ].join('\n'),
    );
    expect([code, stderr]).toEqual([0, '']);

    const { hash, counts, ...answer } = json(await run(['sync', '--dry-run', '--json']));
    expect(hash).toMatch(/^[0-9a-f]{64}$/);
    expect(counts).toMatchObject({ users: { created: 1, updated: 3, deleted: 1 } });
    expect(answer).toEqual({
      kind: 'planned',
      blockedReason: null,
      users: {
        created: [{ id: 'finn', name: 'Finn', dn: personDn('finn') }],
        updated: [
          {
            id: 'anna',
            name: 'Anna Berg',
            dn: personDn('anna'),
            formerId: 'anna',
            fields: ['name', 'email'],
          },
          {
            id: 'benjamin',
            name: 'Name of ben',
            dn: personDn('benjamin'),
            formerId: 'ben',
            fields: ['id', 'dn'],
          },
          { id: 'cleo', name: 'Name of cleo', dn: personDn('cleo'), formerId: 'cleo', fields: ['photo'] },
        ],
        deleted: [{ id: 'dan', name: 'Name of dan', dn: personDn('dan') }],
      },
      groups: {
        created: [],
        updated: [
          { id: 'team', name: 'team', dn: groupDn('team'), formerId: 'team', fields: ['description'] },
        ],
        deleted: [{ id: 'old', name: 'old', dn: groupDn('old') }],
      },
      memberships: [
        { group: 'club', user: 'anna', before: 'ADMIN', after: 'OWNER' },
        { group: 'club', user: 'benjamin', before: 'MEMBER', after: null },
        { group: 'club', user: 'dan', before: 'MEMBER', after: null },
        { group: 'old', user: 'anna', before: 'MEMBER', after: null },
      ],
      nestings: [{ group: 'club', subgroup: 'team', before: null, after: 'MEMBER' }],
      quarantined: [],
      dangling: [{ dn: groupDn('club'), names: 1 }],
    });
  });
});

/**
 * Number of users deleted by the held plan and earlier ones: they are deleted one after another, and the service applies the
 * first three deletions if it reads them before the others.
 */
function countHeld(reason: unknown): number {
  const description =
    /^It would delete (\d+) of \d+ people(?: after (\d+) shortly before)?: at most 3 are let through$/;
  const [, deleted = 0, before = 0] = description.exec(String(reason)) ?? [];
  return Number(deleted) + Number(before);
}

describe.each([
  ['a directory that pushes changes', true],
  ['a polled directory', false],
])('a mass deletion on %s', (_, syncprov) => {
  const people = Array.from({ length: 40 }, (_, index) => `person-${index + 10}`);
  let directory: FollowedDirectory;

  beforeAll(async () => {
    const ldif = buildLdif(
      people.map((id) => ({ id })),
      [{ id: 'all', members: people }],
    );
    directory = await FollowedDirectory.start({ ldif, syncprov });
  });

  afterAll(() => directory.stop());

  /** The command in a process beside the service, which an embedded database does not allow. */
  async function sync(options: { dryRun: true } | { confirm: string }): Promise<Answer> {
    const { service, slapd } = directory;
    const { database } = service.config;
    const args = 'confirm' in options ? ['--confirm', options.confirm] : ['--dry-run'];
    const environment = { DATABASE_URL: database.url, ...directorySettings(slapd) };
    return json(await runCommand(['sync', '--json', ...args], environment));
  }

  it('is held until exactly that plan is confirmed, once, and the service continues afterwards', async () => {
    const { service } = directory;
    const state = service.app.get(MirrorState);
    await directory.change(...people.slice(0, 10).map((id) => `dn: ${personDn(id)}\nchangetype: delete\n`));
    await eventually(async () => countHeld((await readStatus(service)).blockedReason), 10);
    const { blockedPlan } = await state.get();
    const confirm = blockedPlan ?? '';
    // The plan of several notifications equals that of a full reading.
    expect(await sync({ dryRun: true })).toMatchObject({ kind: 'planned', hash: confirm });
    expect(await sync({ confirm })).toMatchObject({ kind: 'applied' });
    expect(await service.synchronize({ confirm })).toMatchObject({
      kind: 'refused',
      reason: 'There is nothing left to confirm: the mirror equals the directory',
    });

    const authorization = await service.serviceAccount('read', 'directory');
    await directory.change(`dn: ${personDn('person-49')}\nchangetype: modify\nreplace: cn\ncn: Last\n`);
    await eventually(
      async () =>
        (
          await service.query('{ users(first: 0) { totalCount } user(user: {id: "person-49"}) { name } }', {
            authorization,
          })
        ).data ?? null,
      { users: { totalCount: 30 }, user: { name: 'Last' } },
    );
    await eventually(
      async () => {
        const { state, blockedReason } = await readStatus(service);
        return { state, blockedReason };
      },
      { state: 'IDLE', blockedReason: null },
    );
  });
});
