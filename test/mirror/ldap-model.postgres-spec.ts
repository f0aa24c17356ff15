import { sendPreviews } from '../support/clients/previews.js';
import { BASE_DN, buildLdif } from '../support/builders/directory.js';
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

describe.each([
  [
    'ids',
    'groups: {filter: (objectClass=posixGroup), members: {attribute: memberUid, by: id}}',
    'anna',
    'ben',
  ],
  [
    'entryUUIDs',
    'groups: {filter: (objectClass=posixGroup), members: {attribute: memberUid, by: uuid}}',
    '5b1f3c1e-0000-4000-8000-000000000001',
    '5b1f3c1e-0000-4000-8000-000000000002',
  ],
  [
    'DNs in two attributes',
    `
groups:
  filter: (objectClass=posixGroup)
  members: {attribute: [uniqueMember, member], by: dn}
`,
    `uid=anna,ou=people,${BASE_DN}`,
    `uid=ben,ou=people,${BASE_DN}`,
  ],
])('previews where groups name members by %s', (by, model, anna, ben) => {
  const directory = forSuite(() => {
    const group = `dn: ${TEAM}\nobjectClass: posixGroup\nobjectClass: extensibleObject\ncn: team\ngidNumber: 1\n`;
    const people = ['anna', 'ben'].map((id, index) => ({
      id,
      uuid: `5b1f3c1e-0000-4000-8000-00000000000${index + 1}`,
    }));
    return FollowedDirectory.start(
      { ldif: `${buildLdif(people)}\n${group}${attribute}: ${anna}\n` },
      { ...modelSetting(model), DIRECTORY_GUARD_PERCENT: '100' },
    );
  });
  let authorization: string;
  const attribute = by.startsWith('DNs') ? 'member' : 'memberUid';

  beforeAll(async () => {
    authorization = await directory.service.serviceAccount('read', 'directory', 'write');
  });

  const preview = (mutation: string) =>
    sendPreviews<{ change: { preview: { ldif: string } } | null }>(
      directory.service,
      `mutation { change: ${mutation} { preview { ldif } } }`,
      { authorization },
    );
  const changeOf = (name: string, id: string) => `${name}(input: {group: {id: "team"}, user: {id: "${id}"}})`;

  it('add and remove members by records that the server accepts', async () => {
    await eventually(() => readMembers(directory.service, 'team'), ['anna MEMBER']);
    const added = await preview(changeOf('addGroupMember', 'ben'));
    const { ldif = '' } = added.data?.change?.preview ?? {};
    expect(ldif).toContain(`: ${ben}\n`);
    await directory.change(ldif);
    await eventually(() => readMembers(directory.service, 'team'), ['anna MEMBER', 'ben MEMBER']);
    const removed = await preview(changeOf('removeGroupMember', 'anna'));
    if (attribute === 'member') {
      // Only the server knows which of the attributes has the value.
      expect(removed.errors[0]?.message).toBe(
        'The directory names members in uniqueMember or member: remove the value there',
      );
      return;
    }
    await directory.change(removed.data?.change?.preview.ldif ?? '');
    await eventually(() => readMembers(directory.service, 'team'), ['ben MEMBER']);
  });
});
