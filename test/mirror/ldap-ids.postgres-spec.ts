import { BASE_DN } from '../support/builders/directory.js';
import { eventually } from '../support/eventually.js';
import { FollowedDirectory } from '../support/servers/ldap.js';
import { countDeletions, readIds, readMembers, readPeople } from '../support/builders/ldap-mirror.js';
import { readLeftOut, readStatus } from '../support/clients/mirror.js';

const personDn = (cn: string) => `cn=${cn},ou=people,${BASE_DN}`;
const person = (cn: string, uid: string) =>
  `dn: ${personDn(cn)}\nchangetype: add\nobjectClass: inetOrgPerson\nuid: ${uid}\ncn: ${cn}\nsn: ${cn}\n`;
const group = (above: string) =>
  `dn: cn=club,${above}${BASE_DN}\nchangetype: add\nobjectClass: groupOfNames\ncn: club\nmember: ${personDn('one')}\n`;
const giveId = (cn: string, uid: string) =>
  `dn: ${personDn(cn)}\nchangetype: modify\nreplace: uid\nuid: ${uid}\n`;

/** The DNs do not contain ids, so that ids can move between entries. */
const CONTENT = [person('one', 'u1'), person('two', 'u2'), person('three', 'u3'), group('ou=groups,')]
  .map((record) => record.replace('changetype: add\n', ''))
  .join('\n');
const SUB = `dn: ou=sub,ou=groups,${BASE_DN}\nobjectClass: organizationalUnit\n`;

describe('ids', () => {
  let directory: FollowedDirectory;

  beforeAll(async () => {
    directory = await FollowedDirectory.start(
      { ldif: `${CONTENT}\n${SUB}` },
      { DIRECTORY_GUARD_PERCENT: '100' },
    );
  });

  afterAll(() => directory.stop());

  /** Users by id, identified by a constant name. */
  const readOwners = async () =>
    Object.entries(await readPeople(directory.service)).map(([id, { dn, key }]) => [id, dn, key]);
  const reasons = async () => {
    const { quarantined } = await readLeftOut(directory.service);
    return quarantined.map(({ dn, reason }) => `${dn} ${reason}`).sort();
  };

  it('can be swapped by two users, who keep their identities', async () => {
    const { u1, u2, u3 } = await readPeople(directory.service);
    await directory.change(giveId('one', 'u2'), giveId('two', 'u1'));
    await eventually(readOwners, [
      ['u1', personDn('two'), u2?.key],
      ['u2', personDn('one'), u1?.key],
      ['u3', personDn('three'), u3?.key],
    ]);
    expect(await countDeletions(directory.service)).toEqual({ people: 0, memberships: 0 });
  });

  it('can be exchanged in a cycle', async () => {
    const [two, one, three] = Object.values(await readPeople(directory.service)).map(({ key }) => key);
    await directory.change(giveId('one', 'u3'), giveId('two', 'u2'), giveId('three', 'u1'));
    await eventually(readOwners, [
      ['u1', personDn('three'), three],
      ['u2', personDn('two'), two],
      ['u3', personDn('one'), one],
    ]);
  });

  it('that two users share, ignoring case, belong to neither, and other changes are applied', async () => {
    await directory.change(person('four', 'U1'), person('five', 'u5'));
    await eventually(() => readIds(directory.service), ['u2', 'u3', 'u5']);
    expect(await reasons()).toEqual(
      ['four', 'three'].map((cn) => `${personDn(cn)} has the same id as another entry`),
    );
    expect(await readStatus(directory.service)).toMatchObject({ state: 'IDLE' });
  });

  it('belong to one user again when the other gets another id', async () => {
    await directory.change(giveId('four', 'u4'));
    await eventually(() => readIds(directory.service), ['u1', 'u2', 'u3', 'u4', 'u5']);
    expect(await reasons()).toEqual([]);
  });

  it('belong to one user again when one of three is left', async () => {
    await directory.change(giveId('four', 'u1'), giveId('five', 'u1'));
    await eventually(() => readIds(directory.service), ['u2', 'u3']);
    await directory.change(`dn: ${personDn('four')}\nchangetype: delete\n`);
    await eventually(async () => (await reasons()).length, 2);
    await directory.change(`dn: ${personDn('three')}\nchangetype: delete\n`);
    await eventually(async () => (await readPeople(directory.service))['u1']?.dn, personDn('five'));
  });

  it('and DNs that differ by the form of a sigma belong to two users, and a group names one', async () => {
    const greek = (id: string, name: string) => person(name, id);
    const members = () => readMembers(directory.service, 'greek');
    const withMember = (cn: string) =>
      group('ou=groups,').replaceAll('club', 'greek').replace(personDn('one'), personDn(cn));
    const before = await readIds(directory.service);
    await directory.change(greek('ΣΑΣ', 'ΓΙΩΡΓΟΣ'), withMember('γιωργοσ'));
    await eventually(members, ['ΣΑΣ MEMBER']);
    await directory.change(greek('σας', 'Γιωργος'), greek('İx', 'İx'));
    await eventually(async () => (await readIds(directory.service)).length, before.length + 3);
    expect(await members()).toEqual(['ΣΑΣ MEMBER']);
    await directory.change(
      `dn: cn=greek,ou=groups,${BASE_DN}\nchangetype: modify\nadd: member\nmember: ${personDn('ix')}\n`,
    );
    await eventually(members, ['İx MEMBER', 'ΣΑΣ MEMBER']);
    await directory.change(
      ...[personDn('ΓΙΩΡΓΟΣ'), personDn('Γιωργος'), personDn('İx'), `cn=greek,ou=groups,${BASE_DN}`].map(
        (dn) => `dn: ${dn}\nchangetype: delete\n`,
      ),
    );
    await eventually(() => readIds(directory.service), before);
  });

  it('of groups are handled in the same way', async () => {
    await directory.change(group('ou=sub,ou=groups,'));
    await eventually(() => readIds(directory.service, 'groups'), []);
    await directory.change(`dn: cn=club,ou=groups,${BASE_DN}\nchangetype: delete\n`);
    await eventually(() => readIds(directory.service, 'groups'), ['club']);
  });
});
