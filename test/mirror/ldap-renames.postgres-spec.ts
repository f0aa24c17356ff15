import { setTimeout as sleep } from 'node:timers/promises';
import { DataSource } from 'typeorm';
import { BASE_DN, buildLdif, personDn, PICTURE } from '../support/builders/directory.js';
import { readIds, readMembers, readPeople } from '../support/builders/ldap-mirror.js';
import { modelSetting } from '../support/builders/model-file.js';
import { readStatus } from '../support/clients/mirror.js';
import { eventually } from '../support/eventually.js';
import { forSuite } from '../support/for-suite.js';
import { FollowedDirectory } from '../support/servers/ldap.js';

const PEOPLE = `ou=people,${BASE_DN}`;

/** Containers of users of each class, and their names after a rename. */
const CONTAINERS = [
  { rdn: 'ou=class', renamed: 'ou=former', lines: ['objectClass: organizationalUnit', 'ou: class'] },
  { rdn: 'c=de', renamed: 'c=fr', lines: ['objectClass: country', 'c: de'] },
  { rdn: 'cn=staff', renamed: 'cn=employees', lines: ['objectClass: organizationalRole', 'cn: staff'] },
  {
    rdn: 'uid=boss',
    renamed: 'uid=head',
    lines: ['objectClass: inetOrgPerson', 'uid: boss', 'cn: boss', 'sn: boss'],
  },
];
const idBelow = (rdn: string) => `below-${rdn.replace(/.*=/, '')}`;
const person = (dn: string, id: string) =>
  `dn: ${dn}\nobjectClass: inetOrgPerson\nuid: ${id}\ncn: ${id}\nsn: ${id}\n`;
const rename = (dn: string, rdn: string) =>
  `dn: ${dn}\nchangetype: modrdn\nnewrdn: ${rdn}\ndeleteoldrdn: 1\n`;

/** Values of `member`: a user, and one below each container. */
const namesOf = (user: string, which: 'rdn' | 'renamed') =>
  [`${user},${PEOPLE}`, ...CONTAINERS.map((each) => `uid=${idBelow(each.rdn)},${each[which]},${PEOPLE}`)]
    .map((dn) => `member: ${dn}\n`)
    .join('');
const LDIF = [
  buildLdif([{ id: 'anna', photo: PICTURE }]),
  ...CONTAINERS.map(({ rdn, lines }) => `dn: ${rdn},${PEOPLE}\n${lines.join('\n')}\n`),
  ...CONTAINERS.map(({ rdn }) => person(`uid=${idBelow(rdn)},${rdn},${PEOPLE}`, idBelow(rdn))),
  `dn: cn=club,ou=groups,${BASE_DN}\nobjectClass: groupOfNames\ncn: club\n${namesOf('uid=anna', 'rdn')}`,
].join('\n');

it('the time of the mirror is none at which the server may still rewrite groups', async () => {
  const ldif = buildLdif([{ id: 'anna' }, { id: 'ben' }], [{ id: 'club', members: ['anna', 'ben'] }]);
  const directory = await FollowedDirectory.start({ ldif }, { DIRECTORY_SCAN_SECONDS: '3600' });
  const { service } = directory;
  const asOf = async () => Date.parse((await readStatus(service)).asOf ?? '');
  try {
    const before = Date.now();
    await service.until(async () => (await asOf()) > before);
    await directory.change(rename(personDn('anna'), 'uid=annika'));
    await service.until(async () => 'annika' in (await readPeople(service)));
    const renamed = Date.now();
    // Each confirmation of the time follows one second after the last one.
    await sleep(4000);
    expect(await asOf()).toBeLessThan(renamed);
  } finally {
    await directory.stop();
  }
});

describe.each([
  { way: 'pushed', syncprov: true },
  { way: 'polled', syncprov: false },
])('changes that are $way', ({ syncprov }) => {
  const directory = forSuite(() =>
    FollowedDirectory.start({ ldif: LDIF, syncprov }, { DIRECTORY_GUARD_PERCENT: '100' }),
  );

  it('a renamed user keeps the row, with photo and time of creation, and so do users below renamed entries', async () => {
    const before = await readPeople(directory.service);
    const members = await readMembers(directory.service, 'club');
    await directory.change(
      rename(personDn('anna'), 'uid=annika'),
      ...CONTAINERS.map(({ rdn, renamed }) => rename(`${rdn},${PEOPLE}`, renamed)),
      `dn: cn=club,ou=groups,${BASE_DN}\nchangetype: modify\nreplace: member\n${namesOf('uid=annika', 'renamed')}`,
    );
    const wanted = Object.entries(before).map(([id, row]) => {
      const container = CONTAINERS.find(({ rdn }) => row.dn.includes(`${rdn},`));
      if (id === 'anna') return ['annika', { ...row, dn: personDn('annika') }] as const;
      if (container === undefined) throw new Error(`There is no container of ${id}`);
      const dn = row.dn.replace(container.rdn, container.renamed);
      return [id === 'boss' ? 'head' : id, { ...row, dn }] as const;
    });
    const sorted = Object.fromEntries(wanted.sort(([one], [other]) => (one < other ? -1 : 1)));
    await eventually(() => readPeople(directory.service), sorted);
    await eventually(
      () => readMembers(directory.service, 'club'),
      members.map((each) => each.replace('anna ', 'annika ')),
    );
  });
});

/** The server rewrites references to a renamed entry a moment later, without another entryCSN of the entries that have them. */
describe.each([
  { way: 'pushed', syncprov: true },
  { way: 'polled', syncprov: false },
])('references of users that the server rewrites, $way', ({ syncprov }) => {
  const model = "users: {fields: {manager: {type: User, description: 'The manager.', attribute: manager}}}";
  const ldif = buildLdif([{ id: 'anna' }, { id: 'berta', manager: 'anna' }]);
  const directory = forSuite(() =>
    FollowedDirectory.start(
      { ldif, syncprov, refint: true },
      { ...modelSetting(model), DIRECTORY_SCAN_SECONDS: '1' },
    ),
  );
  const readManagers = () =>
    directory.service.app
      .get(DataSource)
      .query(
        `select u.id from "references" r join names n on n.name = r.target join users u on u.key = n.key`,
      );

  it('name the same user after the user is renamed', async () => {
    await eventually(readManagers, [{ id: 'anna' }]);
    await directory.change(rename(personDn('anna'), 'uid=annika'));
    await eventually(() => readIds(directory.service), ['annika', 'berta']);
    await eventually(readManagers, [{ id: 'annika' }]);
  });
});
