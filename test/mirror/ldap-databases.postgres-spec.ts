import { readConfig } from '../../src/config/config.js';
import { checkDirectory } from '../../src/mirror/check/check-directory.js';
import { modelSetting } from '../support/builders/model-file.js';
import { buildLdif, groupDn, personDn } from '../support/builders/directory.js';
import { eventually } from '../support/eventually.js';
import { directorySettings, FollowedDirectory } from '../support/servers/ldap.js';
import { readIds, readMembers, readNames } from '../support/builders/ldap-mirror.js';
import { readLeftOut, readStatus } from '../support/clients/mirror.js';

const PEOPLE = ['anna', 'ben', 'cleo'].map((id) => ({ id, name: `Person ${id}` }));
const GROUPS = [{ id: 'club', members: ['anna', 'ben'] }];

const rename = (id: string, name: string) =>
  `dn: ${personDn(id)}\nchangetype: modify\nreplace: displayName\ndisplayName: ${name}\n`;

describe.each([
  ['a glued database', 'glued', '{}'],
  ['a separate database', 'separate', '{}'],
  ['a glued database, and the base of both kinds above it', 'glued', 'users: {base: ""}\ngroups: {base: ""}'],
] as const)(
  'a directory that pushes changes of groups only, with users in %s without syncprov',
  (_, kind, bases) => {
    let directory: FollowedDirectory;

    beforeAll(async () => {
      directory = await FollowedDirectory.start(
        { ldif: buildLdif(PEOPLE, GROUPS), peopleDatabase: kind },
        modelSetting(bases),
      );
    });

    afterAll(() => directory.stop());

    const nameOf = async (id: string) => (await readNames(directory.service))[id] ?? null;

    it('is read completely', async () => {
      await eventually(
        () => readStatus(directory.service).then(({ state, blockedReason }) => [state, blockedReason]),
        ['IDLE', null],
      );
      expect(await readIds(directory.service)).toEqual(['anna', 'ben', 'cleo']);
      expect(await readMembers(directory.service, 'club')).toEqual(['anna MEMBER', 'ben MEMBER']);
      expect((await readLeftOut(directory.service)).quarantined).toEqual([]);
    });

    it('is polled for changes of both parts', async () => {
      await directory.change(rename('anna', 'Anna Berg'));
      await eventually(() => nameOf('anna'), 'Anna Berg');
      await directory.change(
        `dn: ${groupDn('club')}\nchangetype: modify\nadd: owner\nowner: ${personDn('cleo')}\n`,
        `dn: ${personDn('ben')}\nchangetype: delete\n`,
      );
      await eventually(() => readMembers(directory.service, 'club'), ['anna MEMBER', 'cleo OWNER']);
      expect(await readIds(directory.service)).toEqual(['anna', 'cleo']);
      expect(await readStatus(directory.service)).toMatchObject({
        state: 'IDLE',
        blockedReason: null,
        mode: 'POLLED',
        refusals: expect.stringContaining('content synchronization') as string,
      });
    });

    it('is checked in the same way', async () => {
      const { directory: config } = readConfig({
        ...directorySettings(directory.slapd),
        ...modelSetting(bases),
      });
      if (config.source.kind === 'file') throw new Error('It is a file');
      const findings = await checkDirectory(config, config.source, new AbortController().signal);
      expect(findings.filter(({ result }) => result === 'problem')).toEqual([]);
      expect(findings.find(({ what }) => what === 'people')?.text).toMatch(/^2 below /);
      expect(findings.find(({ what }) => what === 'changes')?.text).toMatch(
        /^all entries are listed every 1 s\. The directory server (refuses content synchronization: \w+ \(12\), for|omits) (ou=people,)?dc=example/,
      );
    });
  },
);

describe.each(['glued', 'separate'] as const)('a directory with users in a %s database', (kind) => {
  let directory: FollowedDirectory;

  beforeAll(async () => {
    directory = await FollowedDirectory.start({
      ldif: buildLdif(PEOPLE, GROUPS),
      peopleDatabase: kind,
      peopleSyncprov: true,
    });
  });

  afterAll(() => directory.stop());

  const nameOf = async (id: string) => (await readNames(directory.service))[id] ?? null;
  const isWell = async () => {
    const { state, blockedReason } = await readStatus(directory.service);
    return [state, blockedReason];
  };

  it('is followed if both databases push changes, also across connections', async () => {
    await directory.change(rename('anna', 'Anna Berg'));
    await eventually(() => nameOf('anna'), 'Anna Berg');
    for (const name of ['Anna Bach', 'Anna Boll']) {
      await directory.slapd.restart();
      await directory.change(rename('anna', name));
      await eventually(() => nameOf('anna'), name);
      await eventually(isWell, ['IDLE', null]);
    }
  });

  it("is followed after the users' database stops notifications with an outdated contextCSN", async () => {
    await directory.slapd.restart({ peopleSyncprov: false });
    const describeClub = (text: string) =>
      `dn: ${groupDn('club')}\nchangetype: modify\nreplace: description\ndescription: ${text}\n`;
    for (const name of ['Ben Berg', 'Ben Bach', 'Ben Boll']) {
      await directory.change(describeClub(name), rename('ben', name));
      await eventually(() => nameOf('ben'), name);
      await eventually(isWell, ['IDLE', null]);
      await directory.slapd.restart();
    }
  });
});
