import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readConfig } from '../../src/config/config.js';
import { checkDirectory } from '../../src/sources/check/check-directory.js';
import { checkFile } from '../../src/sources/check/check-file.js';
import { modelSetting } from '../support/builders/model-file.js';
import { buildLdif, type TestPerson } from '../support/builders/directory.js';
import { MIRROR_DN, MIRROR_PASSWORD, startSlapd, SUFFIX } from '../support/servers/slapd.mjs';

const PEOPLE: TestPerson[] = Array.from({ length: 19 }, (_, index) => ({ id: `person-${index}` }));
const IDS = PEOPLE.map(({ id }) => id);

/** Nineteen valid references, in a group with further ones. */
const withOthers = (...others: string[]) => buildLdif(PEOPLE, [{ id: 'club', members: [...IDS, ...others] }]);

async function examineLdif(ldif: string): Promise<string[]> {
  const directory = mkdtempSync(join(tmpdir(), 'references-'));
  try {
    const file = join(directory, 'directory.ldif');
    writeFileSync(file, ldif);
    const config = readConfig({ DIRECTORY_URL: `file:${file}` }).directory;
    if (config.source.kind !== 'file') throw new Error('It is no file');
    const findings = await checkFile(config, config.source, () => undefined);
    return findings
      .filter(({ what }) => what === 'references')
      .map(({ result, text }) => `${result} ${text}`);
  } finally {
    rmSync(directory, { recursive: true });
  }
}

describe('diagnostics of the references of groups', () => {
  const warned = (text: string) => [`warning ${text} name no mirrored entry, and are ignored`];

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
      warned('2 of 4 DNs in groups (50 %)'),
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
        warned('11 of 21 DNs in groups (52.3 %)'),
      );
    } finally {
      await slapd.remove();
    }
  });
});
