import { PICTURE, BASE_DN, buildLdif, personDn } from '../support/builders/directory.js';
import { eventually } from '../support/eventually.js';
import { forSuite } from '../support/for-suite.js';
import { FollowedDirectory } from '../support/servers/ldap.js';
import { countDeletions, readIds, readMembers, readPeople } from '../support/builders/ldap-mirror.js';

const YEAR = `ou=2026,ou=people,${BASE_DN}`;
const ALUMNI = `ou=alumni,ou=people,${BASE_DN}`;

function ldif(): string {
  const below = ['dora', 'emil'].map(
    (id) => `dn: uid=${id},ou=class,${YEAR}\nobjectClass: inetOrgPerson\nuid: ${id}\ncn: ${id}\nsn: ${id}\n`,
  );
  const units = [YEAR, `ou=class,${YEAR}`, ALUMNI].map(
    (dn) => `dn: ${dn}\nobjectClass: organizationalUnit\n`,
  );
  const club = `dn: cn=club,ou=groups,${BASE_DN}\nobjectClass: groupOfNames\ncn: club\nmember: ${personDn('anna')}
member: uid=dora,ou=class,${YEAR}\nmember: uid=emil,ou=class,${YEAR}\n`;
  return [buildLdif([{ id: 'anna', photo: PICTURE }, { id: 'ben' }]), ...units, ...below, club].join('\n');
}

function move(dn: string, rdn: string, superior?: string): string {
  const newSuperior = superior === undefined ? '' : `newsuperior: ${superior}\n`;
  return `dn: ${dn}\nchangetype: moddn\nnewrdn: ${rdn}\ndeleteoldrdn: 1\n${newSuperior}`;
}

describe.each([
  { way: 'pushed', syncprov: true, refint: false },
  { way: 'polled', syncprov: false, refint: true },
])('changes that are $way, overlay refint: $refint', ({ syncprov, refint }) => {
  const directory = forSuite(() =>
    FollowedDirectory.start({ ldif: ldif(), syncprov, refint }, { DIRECTORY_GUARD_PERCENT: '100' }),
  );

  /** The reference in the group's entry: the overlay rewrites it, otherwise the old DN stays. */
  const membersAfter = (withRefint: string[], without: string[]) =>
    eventually(() => readMembers(directory.service, 'club'), refint ? withRefint : without);

  it('a renamed user keeps the row, with photo and time of creation', async () => {
    const { anna } = await readPeople(directory.service);
    await directory.change(move(personDn('anna'), 'uid=annika'));
    await eventually(() => readIds(directory.service), ['annika', 'ben', 'dora', 'emil']);
    const { annika } = await readPeople(directory.service);
    expect(annika).toEqual({ ...anna, hasPhoto: true, dn: personDn('annika') });
    await membersAfter(['annika MEMBER', 'dora MEMBER', 'emil MEMBER'], ['dora MEMBER', 'emil MEMBER']);
  });

  it('entries below a renamed entry keep their rows, though no notification mentions them', async () => {
    const before = await readPeople(directory.service);
    await directory.change(move(`ou=class,${YEAR}`, 'ou=former', ALUMNI));
    const wanted = Object.fromEntries(
      Object.entries(before).map(([id, row]) => [
        id,
        { ...row, dn: row.dn.replace(`ou=class,${YEAR}`, `ou=former,${ALUMNI}`) },
      ]),
    );
    await eventually(() => readPeople(directory.service), wanted);
    await membersAfter(['annika MEMBER', 'dora MEMBER', 'emil MEMBER'], []);
  });

  it('an entry that is renamed back is unchanged', async () => {
    await directory.change(
      move(`ou=former,${ALUMNI}`, 'ou=class', YEAR),
      move(personDn('annika'), 'uid=anna'),
    );
    await eventually(
      () => readMembers(directory.service, 'club'),
      ['anna MEMBER', 'dora MEMBER', 'emil MEMBER'],
    );
    // Each of the three once, because the group is not rewritten.
    const { people, memberships } = await countDeletions(directory.service);
    expect(people).toBe(0);
    // The overlay rewrites the group some time after the user, in a change of its own.
    if (!refint) expect(memberships).toBe(3);
  });

  it.each([
    ['a country', 'country', 'c=de', 'c=fr'],
    ['a role', 'organizationalRole', 'cn=staff', 'cn=employees'],
    ['a user', 'inetOrgPerson', 'uid=boss', 'uid=director'],
  ])('users below %s keep their memberships when it is renamed', async (_, objectClass, rdn, renamed) => {
    const people = `ou=people,${BASE_DN}`;
    const add = (dn: string, type: string, ...lines: string[]) =>
      `dn: ${dn}\nchangetype: add\nobjectClass: ${type}\n${lines.map((line) => `${line}\n`).join('')}`;
    const [attribute = '', id = ''] = rdn.split('=');
    const names = objectClass === 'inetOrgPerson' ? ['cn: boss', 'sn: boss'] : [];
    const user = `below-${id}`;
    const group = `of-${id}`;
    await directory.change(
      add(`${rdn},${people}`, objectClass, `${attribute}: ${id}`, ...names),
      add(`uid=${user},${rdn},${people}`, 'inetOrgPerson', `cn: ${user}`, `sn: ${user}`),
      add(`cn=${group},ou=groups,${BASE_DN}`, 'groupOfNames', `member: uid=${user},${rdn},${people}`),
    );
    await eventually(() => readMembers(directory.service, group), [`${user} MEMBER`]);
    const dn = `uid=${user},${renamed},${people}`;
    await directory.change(
      move(`${rdn},${people}`, renamed),
      `dn: cn=${group},ou=groups,${BASE_DN}\nchangetype: modify\nreplace: member\nmember: ${dn}\n`,
    );
    await eventually(async () => (await readPeople(directory.service))[user]?.dn, dn);
    await eventually(() => readMembers(directory.service, group), [`${user} MEMBER`]);
  });
});
