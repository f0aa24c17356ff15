import { BASE_DN, buildLdif, personDn } from '../support/builders/directory.js';
import { readIds, readMembers } from '../support/builders/ldap-mirror.js';
import { modelSetting } from '../support/builders/model-file.js';
import { eventually } from '../support/eventually.js';
import { forSuite } from '../support/for-suite.js';
import { FollowedDirectory } from '../support/servers/ldap.js';

const STAFF = `ou=staff,${BASE_DN}`;
const FORMER = `ou=former,${BASE_DN}`;
const TEAM = `cn=team,ou=groups,${BASE_DN}`;

const MODEL = `
users: {base: [ou=people, ou=staff]}
groups:
  filter: (objectClass=posixGroup)
  members: {attribute: memberUid, by: id}
`;

const user = (id: string, parent: string) =>
  `dn: uid=${id},${parent}\nobjectClass: inetOrgPerson\nuid: ${id}\ncn: ${id}\nsn: ${id}\n`;

const LDIF = [
  buildLdif([{ id: 'anna' }]),
  ...[STAFF, FORMER].map((dn) => `dn: ${dn}\nobjectClass: organizationalUnit\n`),
  user('berta', STAFF),
  user('carl', FORMER),
  `dn: ${TEAM}\nobjectClass: posixGroup\ncn: team\ngidNumber: 1\nmemberUid: anna\nmemberUid: carl\nmemberUid: later\n`,
].join('\n');

const move = (id: string, from: string, to: string) =>
  `dn: uid=${id},${from}\nchangetype: moddn\nnewrdn: uid=${id}\ndeleteoldrdn: 1\nnewsuperior: ${to}\n`;
const rename = (id: string, parent: string, after: string) =>
  `dn: uid=${id},${parent}\nchangetype: moddn\nnewrdn: uid=${after}\ndeleteoldrdn: 1\n`;

describe('several bases and members by id', () => {
  const directory = forSuite(() =>
    FollowedDirectory.start(
      { ldif: LDIF },
      { ...modelSetting(MODEL), DIRECTORY_GUARD_PERCENT: '100', DIRECTORY_SCAN_SECONDS: '1' },
    ),
  );

  const becomes = async (users: string[], members: string[]) => {
    await eventually(() => readIds(directory.service), users);
    await eventually(() => readMembers(directory.service, 'team'), members);
  };

  it('the first synchronization reads them', () => becomes(['anna', 'berta'], ['anna MEMBER']));

  it('a user who moves below a base appears, with memberships', async () => {
    await directory.change(move('carl', FORMER, STAFF));
    await becomes(['anna', 'berta', 'carl'], ['anna MEMBER', 'carl MEMBER']);
  });

  it('a user who moves between bases stays', async () => {
    await directory.change(move('carl', STAFF, `ou=people,${BASE_DN}`));
    await directory.change(
      `dn: uid=later,${STAFF}\nchangetype: add\n${user('later', STAFF).split('\n').slice(1).join('\n')}`,
    );
    await becomes(['anna', 'berta', 'carl', 'later'], ['anna MEMBER', 'carl MEMBER', 'later MEMBER']);
  });

  it('a user with another id leaves the groups that name the old one', async () => {
    await directory.change(rename('carl', `ou=people,${BASE_DN}`, 'karl'));
    await becomes(['anna', 'berta', 'karl', 'later'], ['anna MEMBER', 'later MEMBER']);
    await directory.change(`dn: ${TEAM}\nchangetype: modify\nadd: memberUid\nmemberUid: Karl\n`);
    await becomes(['anna', 'berta', 'karl', 'later'], ['anna MEMBER', 'karl MEMBER', 'later MEMBER']);
  });

  it('a user who moves below no base disappears', async () => {
    await directory.change(move('anna', `ou=people,${BASE_DN}`, FORMER));
    await becomes(['berta', 'karl', 'later'], ['karl MEMBER', 'later MEMBER']);
  });
});

/** slapadd -q keeps interleaved values as they are, and the server then returns an attribute twice in one entry. */
it('members by DN and by id in one model, also of an entry that has an attribute twice', async () => {
  const ids = ['anna', 'berta', 'carl', 'dora'];
  const group = `dn: ${TEAM}\nobjectClass: groupOfNames\nobjectClass: directoryGroup\nobjectClass: extensibleObject\ncn: team
member: ${personDn('anna')}\nowner: ${personDn('anna')}\nmember: ${personDn('berta')}\ngroupAdmin: ${personDn('berta')}
member: ${personDn('carl')}\nmemberUid: dora\n`;
  const model = 'groups: {members: [{attribute: member}, {attribute: memberUid, by: id}]}';
  const ldif = [buildLdif(ids.map((id) => ({ id }))), group].join('\n');
  const directory = await FollowedDirectory.start({ ldif }, modelSetting(model));
  try {
    const members = ['anna OWNER', 'berta ADMIN', 'carl MEMBER', 'dora MEMBER'];
    await eventually(() => readMembers(directory.service, 'team'), members);
  } finally {
    await directory.stop();
  }
});
