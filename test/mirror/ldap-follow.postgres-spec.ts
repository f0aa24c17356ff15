import { buildLdif, groupDn, personDn } from '../support/builders/directory.js';
import { statementsOfChange } from '../support/builders/statements-of-change.js';
import { FollowedDirectory } from '../support/servers/ldap.js';

const PEOPLE = ['anna', 'ben', 'cleo', 'dan', 'eva'].map((id) => ({ id, name: `Person ${id}` }));
const GROUPS = [
  { id: 'club', members: ['anna', 'ben', '@team'], owners: ['cleo'] },
  { id: 'team', members: ['dan'] },
];

/** Number of statements that may apply one change. */
const MOST_STATEMENTS = 60;

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
