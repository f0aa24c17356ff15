import { buildLdif, groupDn, personDn } from '../support/builders/directory.js';
import { modelSetting } from '../support/builders/model-file.js';
import { writeClients } from '../support/clients/clients.js';
import { eventually } from '../support/eventually.js';
import { FollowedDirectory } from '../support/servers/ldap.js';

const MODEL = `
users:
  fields:
    phone: {attribute: telephoneNumber, type: String, description: The phone number., filterable: true}
    manager: {attribute: manager, type: User, description: The manager., reverse: reports}
scopes:
  confidential: People, groups and members that are hidden from others.
visibility:
  bypass: confidential
  users:   [{where: (employeeType=hidden), to: groupAdmins}]
  groups:  [{where: (businessCategory=secret), to: members}]
  members: [{where: (businessCategory=private), to: members}]
`;

const LIST = '{ users(first: 20) { totalCount nodes { id } } groups(first: 20) { totalCount nodes { id } } }';
const MEMBERS = '{ group(group: {id: "club"}) { members(first: 20) { totalCount nodes { user { id } } } } }';

/** Paths to the same user: other members of the same group, a reference, a search, a filter, the user and the node. */
const PATHS = [
  LIST,
  MEMBERS,
  '{ user(user: {id: "vera"}) { reports(first: 5) { totalCount nodes { id } } } }',
  '{ search(query: "anna", first: 5) { totalCount nodes { ... on User { id } } } }',
  '{ users(first: 5, filter: {phone: {startsWith: "+41"}}) { totalCount nodes { id } } }',
  '{ user(user: {id: "anna"}) { id manager { id } } }',
  '{ user(user: {id: "ben"}) { groups(first: 5) { nodes { group { members(first: 5) { nodes { user { id } } } } } } } }',
];

describe('a directory whose entries begin to match a rule', () => {
  let directory: FollowedDirectory;
  const tokens: Record<string, string> = {};

  beforeAll(async () => {
    directory = await FollowedDirectory.start(
      {
        ldif: buildLdif(
          [{ id: 'anna' }, { id: 'ben' }, { id: 'vera' }],
          [{ id: 'club', members: ['anna', 'ben'], admins: ['vera'] }],
        ),
        syncprov: true,
      },
      {
        ...modelSetting(MODEL),
        AUTH_EMBEDDED_CLIENTS: writeClients(['ben', 'vera'].map((id) => ({ id: `${id}-app`, owner: id }))),
        LIMIT_TOKENS: '100000',
      },
    );
    const { service } = directory;
    tokens['vera'] = await service.accessToken('read directory', 'vera-app');
    tokens['ben'] = await service.accessToken('read directory', 'ben-app');
    tokens['machine'] = await service.serviceAccount('read', 'directory');
    tokens['confidant'] = await service.serviceAccount('read', 'directory', 'confidential');
  });

  afterAll(() => directory.stop());

  const modify = (dn: string, attribute: string, value: string) =>
    directory.change(`dn: ${dn}\nchangetype: modify\nreplace: ${attribute}\n${attribute}: ${value}\n`);

  async function ask(who: string, query: string): Promise<{ text: string; revision: string | null }> {
    const { data, errors, headers } = await directory.service.query(query, {
      authorization: tokens[who] ?? '',
    });
    const codes = errors.map(({ extensions }) => extensions.code);
    return { text: JSON.stringify([data, codes]), revision: headers.get('directory-revision') };
  }

  it('loses a hidden user in all responses with the same revision, cached ones included', async () => {
    await modify(personDn('anna'), 'manager', personDn('vera'));
    await modify(personDn('anna'), 'telephoneNumber', '+41 44 1');
    for (const query of PATHS)
      await eventually(async () => (await ask('ben', query)).text.includes('anna'), true);
    for (let time = 0; time < 3; time++)
      for (const query of PATHS) expect((await ask('ben', query)).text).toContain('anna');
    const { revision: before } = await ask('ben', MEMBERS);
    await modify(personDn('anna'), 'employeeType', 'hidden');
    await eventually(async () => (await ask('ben', MEMBERS)).revision !== before, true);
    for (let time = 0; time < 3; time++) {
      for (const query of PATHS) {
        for (const who of ['ben', 'machine']) expect((await ask(who, query)).text).not.toContain('anna');
        for (const who of ['vera', 'confidant']) expect((await ask(who, query)).text).toContain('anna');
      }
    }
    expect((await ask('ben', '{ users(first: 1) { totalCount } }')).text).toContain('"totalCount":2');
  });

  it('logs the revision as a deletion for those outside, and as an update for those inside', async () => {
    const lastOf = async (who: string) => {
      const query = '{ changes(last: 1) { nodes { kind userId } } }';
      return (await ask(who, query)).text;
    };
    for (const who of ['ben', 'machine']) expect(await lastOf(who)).toContain('"USER_DELETED"');
    for (const who of ['vera', 'confidant']) expect(await lastOf(who)).toContain('"USER_UPDATED"');
  });

  it('shows the user again when the rule does not match any more', async () => {
    await modify(personDn('anna'), 'employeeType', 'staff');
    await eventually(async () => (await ask('ben', MEMBERS)).text.includes('anna'), true);
    expect((await ask('machine', LIST)).text).toContain('anna');
  });

  it('hides members, and then the whole group', async () => {
    await modify(groupDn('club'), 'businessCategory', 'private');
    await eventually(async () => (await ask('machine', MEMBERS)).text.includes('FORBIDDEN'), true);
    expect((await ask('ben', MEMBERS)).text).toContain('"totalCount":3');
    await modify(groupDn('club'), 'businessCategory', 'secret');
    await eventually(async () => (await ask('machine', MEMBERS)).text.includes('NOT_FOUND'), true);
    expect((await ask('ben', MEMBERS)).text).toContain('"totalCount":3');
    expect((await ask('machine', LIST)).text).toContain('"groups":{"totalCount":0,"nodes":[]}');
  });
});
