import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { suggestFor } from '../../src/commands/suggest/suggest.js';
import { type Environment, readConfig } from '../../src/config/config.js';
import { checkDirectory } from '../../src/mirror/check/check-directory.js';
import { modelSetting } from '../support/builders/model-file.js';
import { runCommand } from '../support/clients/command.js';
import { findFreePort } from '../support/servers/postgres.mjs';
import { MIRROR_DN, MIRROR_PASSWORD, startSlapd, SUFFIX, type TestSlapd } from '../support/servers/slapd.mjs';

function entry(dn: string, ...lines: string[]): string {
  return [`dn: ${dn},${SUFFIX}`, ...lines, ''].join('\n');
}

const STAFF = ['ann', 'ben'];
const STUDENTS = ['cleo', 'dan', 'eve'];

function account(place: string, id: string, index: number, ...lines: string[]): string {
  return entry(
    `uid=${id},ou=${place}`,
    ...[
      'objectClass: inetOrgPerson',
      'objectClass: posixAccount',
      `uid: ${id}`,
      `cn: ${id} Long`,
      `sn: Long`,
    ],
    ...[`uidNumber: ${index}`, `gidNumber: 100`, `homeDirectory: /home/${id}`],
    ...lines,
  );
}

const LDIF = [
  entry('ou=staff', 'objectClass: organizationalUnit', 'ou: staff'),
  entry('ou=printers', 'objectClass: organizationalUnit', 'ou: printers'),
  entry('ou=unix,ou=groups', 'objectClass: organizationalUnit', 'ou: unix'),
  ...STAFF.map((id, index) =>
    account('staff', id, index, `mail: ${id}@example.org`, 'userPassword: hunter2', 'telephoneNumber: 044'),
  ),
  ...STUDENTS.map((id, index) =>
    account('people', id, 1000 + index, `manager: uid=ann,ou=staff,${SUFFIX}`, 'mobile: 1', 'mobile: 2'),
  ),
].join('\n');

const POSIX_GROUPS = [
  ['choir', ['ann', 'cleo']],
  ['chess', ['dan', 'unknown']],
] as const;

const POSIX = POSIX_GROUPS.map(([id, members], index) =>
  entry(
    `cn=${id},ou=unix,ou=groups`,
    ...['objectClass: posixGroup', `cn: ${id}`, `gidNumber: ${index}`],
    ...members.map((each) => `memberUid: ${each}`),
  ),
);

const UNIQUE = ['choir', 'chess', 'club'].map((id) =>
  entry(
    `cn=${id},ou=groups`,
    ...['objectClass: groupOfUniqueNames', `cn: ${id}`, `owner: uid=ben,ou=staff,${SUFFIX}`],
    ...[`uniqueMember: uid=cleo,ou=people,${SUFFIX}#'01'B`, `uniqueMember: uid=ann,ou=staff,${SUFFIX}`],
    ...[`seeAlso: cn=chess,ou=groups,${SUFFIX}`],
  ),
);

/** Groups of both forms. Most have the one with DNs. */
const MIXED = [...UNIQUE, ...POSIX.slice(0, 1)];

describe('the model that is suggested for slapd', () => {
  let slapd: TestSlapd;

  async function start(groups: readonly string[]): Promise<void> {
    slapd = await startSlapd({ ldif: [LDIF, ...groups].join('\n') });
  }

  afterEach(() => slapd.remove());

  function configOf(settings: Environment = {}) {
    return readConfig({
      DIRECTORY_URL: slapd.url,
      DIRECTORY_BASE_DN: SUFFIX,
      DIRECTORY_BIND_DN: MIRROR_DN,
      DIRECTORY_BIND_PASSWORD: MIRROR_PASSWORD,
      ...settings,
    }).directory;
  }

  async function suggest(): Promise<string> {
    return suggestFor(configOf(), new AbortController().signal);
  }

  /** What a check with the suggested model finds, without the lines about the server. */
  async function check(model: string): Promise<string[]> {
    const directory = configOf(modelSetting(model));
    if (directory.source.kind === 'file') throw new Error('It is a file');
    const findings = await checkDirectory(directory, directory.source, new AbortController().signal);
    return findings.slice(3).map(({ what, result, text }) => `${result} ${what}: ${text ?? ''}`);
  }

  it('has the accounts and groups of POSIX, in two places, with members by id', async () => {
    await start(POSIX);
    const text = await suggest();
    expect(parse(text)).toEqual({
      server: 'openldap',
      uuid: 'entryUUID',
      createdAt: 'createTimestamp',
      modifiedAt: 'modifyTimestamp',
      users: {
        base: ['ou=people', 'ou=staff'],
        filter: '(objectClass=inetOrgPerson)',
        id: 'uid',
        name: 'cn',
        fields: {
          familyName: 'sn',
          email: 'mail',
          gidNumber: { attribute: 'gidNumber', type: 'Int', description: 'The gid number.' },
          homeDirectory: { attribute: 'homeDirectory', type: 'String', description: 'The home directory.' },
          uidNumber: { attribute: 'uidNumber', type: 'Int', description: 'The uid number.' },
          manager: {
            attribute: 'manager',
            type: 'User',
            description: 'The user that manager names.',
            reverse: 'reports',
          },
          mobile: {
            attribute: 'mobile',
            type: '[String!]!',
            description: 'All values of mobile.',
            access: 'contact',
          },
          telephoneNumber: {
            attribute: 'telephoneNumber',
            type: 'String',
            description: 'The telephone number.',
            access: 'contact',
          },
        },
      },
      groups: {
        base: 'ou=groups',
        filter: '(objectClass=posixGroup)',
        id: 'cn',
        name: 'cn',
        fields: { gidNumber: { attribute: 'gidNumber', type: 'Int', description: 'The gid number.' } },
        members: { attribute: 'memberUid', by: 'id' },
        classes: ['posixGroup'],
      },
      scopes: { contact: 'Phone numbers and addresses.' },
    });
    expect(text).toContain('    # in 3 of 5 entries\n    manager:\n');
    expect(text).not.toMatch(/hunter2|userPassword|cleo|ann\b/);
    const found = await check(text);
    expect(found.slice(0, 3)).toEqual([
      `ok people: 5 below ou=people,${SUFFIX} and ou=staff,${SUFFIX}`,
      `ok groups: 2 below ou=groups,${SUFFIX}`,
      'ok members: memberUid in 2 groups, groupAdmin in 0 groups, owner in 0 groups',
    ]);
    expect(found).toContain('ok references: users.manager: 3 of 3 values name a mirrored user');
    expect(found.filter((line) => line.startsWith('problem'))).toEqual([]);
  });

  it('is made of 200 users and 200 groups', async () => {
    const numbers = Array.from({ length: 230 }, (_, index) => index + 1);
    const people = numbers.map((each) => account('people', `person${each}`, each, 'carLicense: A'));
    const clubs = numbers.map((each) =>
      entry(
        `cn=club${each},ou=groups`,
        ...['objectClass: groupOfUniqueNames', `cn: club${each}`, 'businessCategory: sport'],
        `uniqueMember: uid=person${each},ou=people,${SUFFIX}`,
      ),
    );
    slapd = await startSlapd({ ldif: [...people, ...clubs].join('\n') });
    const file = join(slapd.directory, 'dump.ldif');
    writeFileSync(file, await slapd.dump());
    const fromFile = await runCommand(['model', '--suggest'], { DIRECTORY_URL: `file:${file}` });
    for (const text of [await suggest(), fromFile.stdout])
      for (const name of ['carLicense', 'businessCategory'])
        expect(text).toContain(`    # in 200 of 200 entries\n    ${name}:\n`);
  });

  it('has members with identifiers, owners and references between groups', async () => {
    await start(MIXED);
    const text = await suggest();
    expect((parse(text) as { groups: unknown }).groups).toEqual({
      base: 'ou=groups',
      filter: '(|(objectClass=groupOfUniqueNames)(objectClass=posixGroup))',
      id: 'cn',
      name: 'cn',
      fields: {
        seeAlso: {
          attribute: 'seeAlso',
          type: 'Group',
          description: 'The group that seeAlso names.',
          reverse: 'seeAlsoOf',
        },
        gidNumber: { attribute: 'gidNumber', type: 'Int', description: 'The gid number.' },
      },
      members: [
        { attribute: 'uniqueMember', by: 'dn' },
        { attribute: 'memberUid', by: 'id' },
      ],
      owners: { attribute: 'owner', by: 'dn' },
      classes: ['groupOfUniqueNames'],
    });
    expect(await check(text)).toContain(
      'ok members: uniqueMember in 3 groups, memberUid in 1 group, groupAdmin in 0 groups, owner in 3 groups',
    );
  });

  it('is printed by the command, which also reads a file and says why there is none', async () => {
    await start(POSIX);
    const file = join(slapd.directory, 'dump.ldif');
    writeFileSync(file, await slapd.dump());
    const suggested = await runCommand(['model', '--suggest'], { DIRECTORY_URL: `file:${file}` });
    expect(suggested.stderr).toBe('');
    const fromServer = parse(await suggest()) as object;
    expect(parse(suggested.stdout)).toEqual({ ...fromServer, server: undefined });
    const settings = { DIRECTORY_URL: `file:${file}`, DIRECTORY_BASE_DN: 'dc=other' };
    const none = await runCommand(['model', '--suggest'], settings);
    expect([none.code, none.stderr]).toEqual([
      1,
      'There are no users and no groups below dc=other. Check DIRECTORY_BASE_DN and the rights of the account\n',
    ]);
    const port = await findFreePort();
    const absent = await runCommand(['model', '--suggest'], { DIRECTORY_URL: `ldap://127.0.0.1:${port}` });
    expect([absent.code, absent.stderr]).toEqual([
      1,
      `The directory cannot be read: No connection to 127.0.0.1:${port}: ECONNREFUSED\n`,
    ]);
  });
});
