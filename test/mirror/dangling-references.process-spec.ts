import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readConfig } from '../../src/config/config.js';
import { checkDirectory, checkFile } from '../../src/mirror/check/check-directory.js';
import { modelSetting } from '../support/builders/model-file.js';
import { buildLdif, type TestPerson } from '../support/builders/directory.js';
import { MIRROR_DN, MIRROR_PASSWORD, startSlapd, SUFFIX } from '../support/servers/slapd.mjs';

const PEOPLE: TestPerson[] = Array.from({ length: 19 }, (_, index) => ({ id: `person-${index}` }));
const IDS = PEOPLE.map(({ id }) => id);

/** Nineteen valid references, in a group with further ones. */
const withOthers = (...others: string[]) => buildLdif(PEOPLE, [{ id: 'club', members: [...IDS, ...others] }]);

async function examineLdif(ldif: string, model = ''): Promise<string[]> {
  const directory = mkdtempSync(join(tmpdir(), 'references-'));
  try {
    const file = join(directory, 'directory.ldif');
    writeFileSync(file, ldif);
    const config = readConfig({
      DIRECTORY_URL: `file:${file}`,
      ...modelSetting(model === '' ? '# The built-in model.' : model),
    }).directory;
    if (config.source.kind !== 'file') throw new Error('It is no file');
    const findings = await checkFile(config, config.source);
    return findings
      .filter(({ what }) => what === 'references')
      .map(({ result, text }) => `${result} ${text}`);
  } finally {
    rmSync(directory, { recursive: true });
  }
}

describe('diagnostics of the references of groups', () => {
  const warned = (text: string, cure = '') => [
    `warning ${text} name no mirrored entry, and are ignored${cure === '' ? '' : `: ${cure}`}`,
  ];
  const outsideFilters = `set users.filter so that it selects what is named below ou=people,${SUFFIX}, let the account read it, or remove the DNs of deleted entries`;

  it.each([
    ['says nothing if all entries exist', withOthers(), []],
    ['says nothing if 5 % of the entries are missing', withOthers('gone'), []],
    ['warns of more than 5 %', withOthers('gone', 'left'), warned('2 of 21 DNs in groups (9.5 %)')],
    ['says nothing of a group that contains itself', buildLdif(PEOPLE, [{ id: 'empty' }]), []],
    [
      'counts a DN once per group, in any number of attributes',
      buildLdif(PEOPLE, [
        { id: 'one', members: ['gone', 'person-0'], admins: ['gone'] },
        { id: 'two', owners: ['gone'], members: ['@one'] },
      ]),
      warned('2 of 4 DNs in groups (50 %)', outsideFilters),
    ],
    [
      'counts users who are skipped because of their id',
      [
        buildLdif(PEOPLE, [{ id: 'club', members: IDS.slice(0, 10) }]),
        `dn: cn=twin,ou=people,${SUFFIX}\nobjectClass: inetOrgPerson\nuid: Person-0\ncn: twin\n`,
      ].join('\n'),
      warned('1 of 10 DNs in groups (10 %)'),
    ],
  ])('%s', async (_, ldif, expected) => {
    expect(await examineLdif(ldif)).toEqual(expected);
  });

  const field = (attribute: string) =>
    `users: {fields: {boss: {attribute: ${attribute}, type: User, description: The manager., reverse: team}}}`;
  const personIn = (place: string, id: string, manager?: string) =>
    [
      ...[`dn: uid=${id},ou=${place},${SUFFIX}`, 'objectClass: inetOrgPerson', `uid: ${id}`, `cn: ${id}`],
      ...[manager === undefined ? '' : `manager: ${manager}\n`],
    ].join('\n');
  /** Ten users in one place, and a group. */
  const clubOf = (place: string, memberOf: (id: string) => string) =>
    [
      ...IDS.slice(0, 10).map((id) => personIn(place, id)),
      [
        ...[`dn: cn=club,ou=groups,${SUFFIX}`, 'objectClass: groupOfNames', 'cn: club'],
        ...IDS.slice(0, 10).map((id) => `member: ${memberOf(id)}`),
      ].join('\n'),
    ].join('\n');
  const bosses = (value: string) =>
    IDS.slice(0, 10)
      .map((id) => personIn('people', id, value))
      .join('\n');
  const noDns =
    'set groups.members.by to id or uuid, or groups.members.attribute to one with DNs, because its values are no DNs';
  const allOf = (cure: string) => warned('10 of 10 DNs in groups (100 %)', cure);

  it.each([
    [
      'a base',
      clubOf('staff', (id) => `uid=${id},ou=staff,${SUFFIX}`),
      '',
      allOf(
        `extend users.base or groups.base: what is named is not below ou=people,${SUFFIX} or ou=groups,${SUFFIX}`,
      ),
    ],
    [
      'the base DN',
      clubOf('people', (id) => `uid=${id},dc=school`),
      '',
      allOf(`set DIRECTORY_BASE_DN to an entry above what is named, which is not below ${SUFFIX}`),
    ],
    ['by, for values that are ids', clubOf('people', (id) => id), '', allOf(noDns)],
    [
      'by, for values that are DNs',
      clubOf('people', (id) => `uid=${id},ou=people,${SUFFIX}`),
      'groups: {members: {attribute: member, by: uuid}}',
      allOf('set groups.members.by to dn, because its values are DNs'),
    ],
    ['the attribute, for values that are neither', clubOf('people', (id) => `Mx. ${id}`), '', allOf(noDns)],
    [
      'the filter of users, for ids of others',
      clubOf('people', (id) => `other-${id}`),
      'groups: {members: {attribute: member, by: id}}',
      allOf(
        'set users so that they include those whom groups.members names: users.base, users.filter, users.id',
      ),
    ],
    [
      'the type of a field',
      bosses('person-1'),
      field('manager'),
      [
        'warning users.boss: 0 of 10 values name a mirrored user: set users.fields.boss.type to String, because its values are no DNs',
      ],
    ],
    [
      'the base of a field of users',
      bosses(`uid=boss,ou=staff,${SUFFIX}`),
      field('manager'),
      [
        `warning users.boss: 0 of 10 values name a mirrored user: extend users.base: what is named is not below ou=people,${SUFFIX}`,
      ],
    ],
  ])('say to set %s if more than a fifth dangle', async (_, ldif, model, expected) => {
    expect(await examineLdif(ldif, model)).toEqual(expected);
  });

  it.each([
    ['pushes', true],
    ['does not push', false],
  ])('warns of a server that %s changes, and of hidden users', async (_, syncprov) => {
    const slapd = await startSlapd({ ldif: withOthers('gone', 'left'), syncprov });
    try {
      const examine = async (settings: Record<string, string>) => {
        const config = readConfig({
          DIRECTORY_URL: slapd.url,
          DIRECTORY_BASE_DN: SUFFIX,
          DIRECTORY_BIND_DN: MIRROR_DN,
          DIRECTORY_BIND_PASSWORD: MIRROR_PASSWORD,
          ...settings,
        }).directory;
        if (config.source.kind === 'file') throw new Error('It is a file');
        const findings = await checkDirectory(config, config.source, new AbortController().signal);
        return findings
          .filter(({ what }) => what === 'references')
          .map(({ result, text }) => `${result} ${text}`);
      };
      expect(await examine({})).toEqual(warned('2 of 21 DNs in groups (9.5 %)'));
      expect(await examine(modelSetting('users: {filter: (uid=person-1*)}'))).toEqual(
        warned('11 of 21 DNs in groups (52.3 %)', outsideFilters),
      );
      await slapd.restart({
        syncprov,
        acl: [
          `access to dn.regex="^uid=person-1.*" by * none`,
          `access to * by dn.exact="${MIRROR_DN}" read by * auth`,
        ],
      });
      expect(await examine({})).toEqual(warned('12 of 21 DNs in groups (57.1 %)', outsideFilters));
    } finally {
      await slapd.remove();
    }
  });
});
