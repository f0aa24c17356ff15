import { buildLdif, groupDn, personDn } from '../support/builders/directory.js';
import { statementsOfChange } from '../support/builders/statements-of-change.js';
import { eventually } from '../support/eventually.js';
import { FollowedDirectory } from '../support/servers/ldap.js';
import { readStatus } from '../support/clients/mirror.js';

const PEOPLE = ['anna', 'ben', 'cleo', 'dan', 'eva'].map((id) => ({ id, name: `Person ${id}` }));
const GROUPS = [
  { id: 'club', members: ['anna', 'ben', '@team'], owners: ['cleo'] },
  { id: 'team', members: ['dan'] },
];

describe.each([
  ['a directory that pushes changes', true],
  ['a polled directory', false],
])('%s', (_, syncprov) => {
  let directory: FollowedDirectory;
  let authorization: string;

  beforeAll(async () => {
    directory = await FollowedDirectory.start({ ldif: buildLdif(PEOPLE, GROUPS), syncprov });
    authorization = await directory.service.serviceAccount('read', 'directory');
  });

  afterAll(async () => {
    await directory.stop();
  });

  async function sendRequest<Data>(query: string): Promise<Data> {
    const { data, errors } = await directory.service.query<Data>(query, { authorization });
    if (!data) throw new Error(errors[0]?.message);
    return data;
  }

  const nameOf = async (id: string) => {
    const { user } = await sendRequest<{ user: { name: string } | null }>(
      `{ user(user: {id: "${id}"}) { name } }`,
    );
    return user?.name ?? null;
  };
  const membersOf = async (id: string) => {
    const { group } = await sendRequest<{
      group: { members: { nodes: { user: { id: string }; role: { value: string } }[] } };
    }>(`{ group(group: {id: "${id}"}) { members(first: 100) { nodes { user { id } role { value } } } } }`);
    return group.members.nodes.map(({ user, role }) => `${user.id} ${role.value}`).sort();
  };

  it('is read when the service starts', async () => {
    expect(await membersOf('club')).toEqual(['anna MEMBER', 'ben MEMBER', 'cleo OWNER', 'dan MEMBER']);
    expect(await readStatus(directory.service)).toMatchObject({ state: 'IDLE', blockedReason: null });
  });

  it('shows a changed user', async () => {
    await directory.change(
      `dn: ${personDn('anna')}\nchangetype: modify\nreplace: displayName\ndisplayName: Anna Berg\n`,
    );
    await eventually(() => nameOf('anna'), 'Anna Berg');
  });

  it('shows added users, also in groups that referred to them before', async () => {
    await directory.change(
      `dn: ${groupDn('team')}\nchangetype: modify\nadd: groupAdmin\ngroupAdmin: ${personDn('finn')}\n`,
      `dn: ${personDn('finn')}\nchangetype: add\nobjectClass: inetOrgPerson\nuid: finn\ncn: Finn\nsn: Finn\n`,
    );
    await eventually(
      () => membersOf('club'),
      ['anna MEMBER', 'ben MEMBER', 'cleo OWNER', 'dan MEMBER', 'finn MEMBER'],
    );
    expect(await membersOf('team')).toEqual(['dan MEMBER', 'finn ADMIN']);
  });

  it('shows deleted users', async () => {
    await directory.change(`dn: ${personDn('finn')}\nchangetype: delete\n`);
    await eventually(() => membersOf('team'), ['dan MEMBER']);
    expect(await nameOf('finn')).toBeNull();
  });
});

/** Number of statements that may apply one change. */
const MOST_STATEMENTS = 20;

describe('one change of a directory that pushes changes', () => {
  let directory: FollowedDirectory;

  beforeAll(async () => {
    directory = await FollowedDirectory.start({ ldif: buildLdif(PEOPLE, GROUPS) });
  });

  afterAll(async () => {
    await directory.stop();
  });

  const finn = `dn: ${personDn('finn')}\nchangetype: add\nobjectClass: inetOrgPerson\nuid: finn\ncn: Finn\nsn: Finn\n`;

  it.each([
    [
      'a changed name',
      `dn: ${personDn('anna')}\nchangetype: modify\nreplace: displayName\ndisplayName: Zoë\n`,
    ],
    ['a new member', `dn: ${groupDn('team')}\nchangetype: modify\nadd: member\nmember: ${personDn('eva')}\n`],
    ['a new user', finn],
    ['a deleted member', `dn: ${personDn('ben')}\nchangetype: delete\n`],
  ])('needs few statements: %s', async (_, ldif) => {
    const statements = await statementsOfChange(() => directory.change(ldif));

    expect(statements.length).toBeLessThanOrEqual(MOST_STATEMENTS);
  });
});
