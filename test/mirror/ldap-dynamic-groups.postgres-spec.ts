import { DataSource } from 'typeorm';
import { modelSetting } from '../support/builders/model-file.js';
import { BASE_DN, buildLdif, groupDn, personDn } from '../support/builders/directory.js';
import { eventually } from '../support/eventually.js';
import { forSuite } from '../support/for-suite.js';
import { FollowedDirectory } from '../support/servers/ldap.js';
import { readMembers } from '../support/builders/ldap-mirror.js';
import { readRevision, readStatus } from '../support/clients/mirror.js';

/** Users with the matching `sn`, or an attribute that the model does not read; cleo does not match. */
const URL = `ldap:///ou=people,${BASE_DN}??sub?(|(sn=Staff)(roomNumber=7))`;
const LDIF = [
  buildLdif(
    [
      { id: 'anna', familyName: 'Staff' },
      { id: 'ben', familyName: 'Staff' },
      { id: 'cleo', familyName: 'Guest' },
    ],
    [{ id: 'club', members: ['cleo', '@staff'] }],
  ),
  `dn: ${groupDn('staff')}\nobjectClass: groupOfURLs\ncn: staff\nmemberURL: ${URL}\n`,
].join('\n');

const person = (id: string, familyName: string) =>
  `dn: ${personDn(id)}\nchangetype: add\nobjectClass: inetOrgPerson\nuid: ${id}\ncn: ${id}\nsn: ${familyName}\n`;
const replace = (dn: string, attribute: string, value: string) =>
  `dn: ${dn}\nchangetype: modify\nreplace: ${attribute}\n${attribute}: ${value}\n`;

describe.each([
  ['pushed', true],
  ['polled', false],
])('a dynamic group of a directory whose changes are %s', (_, syncprov) => {
  const directory = forSuite(() =>
    FollowedDirectory.start(
      { ldif: LDIF, syncprov, dynlist: true },
      modelSetting('groups: {filter: (|(objectClass=groupOfNames)(objectClass=groupOfURLs))}'),
    ),
  );

  const membersOf = (id: string) => readMembers(directory.service, id);

  /** Every removal of a membership by a revision. */
  async function readRemovals(): Promise<number> {
    const [row]: { removed: number }[] = await directory.service.app
      .get(DataSource)
      .query('select coalesce(sum(memberships_removed), 0)::integer as removed from revisions');
    return row?.removed ?? 0;
  }

  it('has its members from the beginning', async () => {
    expect(await membersOf('staff')).toEqual(['anna MEMBER', 'ben MEMBER']);
    expect(await membersOf('club')).toEqual(['anna MEMBER', 'ben MEMBER', 'cleo MEMBER']);
  });

  it('keeps its members when its entry changes', async () => {
    const before = await readRevision(directory.service);
    await directory.change(replace(groupDn('staff'), 'description', 'Changed'));
    await eventually(async () => (await readRevision(directory.service)) > before, true);
    expect(await membersOf('staff')).toEqual(['anna MEMBER', 'ben MEMBER']);
    expect(await readRemovals()).toBe(0);
  });

  it('gets users who are added or start to match', async () => {
    await directory.change(person('dan', 'Staff'));
    await eventually(() => membersOf('staff'), ['anna MEMBER', 'ben MEMBER', 'dan MEMBER']);
    await directory.change(replace(personDn('cleo'), 'roomNumber', '7'));
    const all = ['anna MEMBER', 'ben MEMBER', 'cleo MEMBER', 'dan MEMBER'];
    await eventually(() => membersOf('staff'), all);
    await eventually(() => membersOf('club'), all);
    expect(await readRemovals()).toBe(0);
  });

  it('loses only users who no longer match', async () => {
    await directory.change(replace(personDn('anna'), 'sn', 'Guest'));
    await eventually(() => membersOf('staff'), ['ben MEMBER', 'cleo MEMBER', 'dan MEMBER']);
    expect(await readRemovals()).toBe(1);
    await directory.change(`dn: ${personDn('dan')}\nchangetype: delete\n`);
    await eventually(() => membersOf('staff'), ['ben MEMBER', 'cleo MEMBER']);
    expect(await readRemovals()).toBeLessThanOrEqual(2);
  });

  it('is found when it is added, and follows its own search', async () => {
    await directory.change(
      `dn: ${groupDn('guests')}\nchangetype: add\nobjectClass: groupOfURLs\ncn: guests\nmemberURL: ldap:///ou=people,${BASE_DN}??sub?(sn=Guest)\n`,
    );
    await eventually(() => membersOf('guests'), ['anna MEMBER', 'cleo MEMBER']);
    await directory.change(
      replace(groupDn('guests'), 'memberURL', `ldap:///ou=people,${BASE_DN}??sub?(uid=ben)`),
    );
    await eventually(() => membersOf('guests'), ['ben MEMBER']);
    expect(await readStatus(directory.service)).toMatchObject({ state: 'IDLE', blockedReason: null });
  });
});

describe('users whose attribute for their groups is computed', () => {
  const directory = forSuite(() =>
    FollowedDirectory.start(
      {
        ldif: buildLdif([{ id: 'anna' }, { id: 'ben' }], [{ id: 'club', members: ['anna'] }]),
        syncprov: true,
        dynlist: true,
      },
      {
        ...modelSetting('users: {memberOf: memberOf}\ngroups: {members: {attribute: []}}'),
        DIRECTORY_SCAN_SECONDS: '3600',
      },
    ),
  );

  it('join and leave a group when only its entry changes', async () => {
    const membersOf = (id: string) => readMembers(directory.service, id);
    expect(await membersOf('club')).toEqual(['anna MEMBER']);
    const change = (kind: string, id: string) =>
      directory.change(
        `dn: ${groupDn('club')}\nchangetype: modify\n${kind}: member\nmember: ${personDn(id)}\n`,
      );
    await change('add', 'ben');
    await eventually(() => membersOf('club'), ['anna MEMBER', 'ben MEMBER']);
    await change('delete', 'anna');
    await eventually(() => membersOf('club'), ['ben MEMBER']);
  });
});
