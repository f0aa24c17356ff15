import { buildLdif, groupDn, personDn } from '../support/builders/directory.js';
import { modelSetting } from '../support/builders/model-file.js';
import { writeClients } from '../support/clients/clients.js';
import { eventually } from '../support/eventually.js';
import { FollowedDirectory } from '../support/servers/ldap.js';

const MODEL = `
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
    for (let time = 0; time < 3; time++)
      for (const query of [LIST, MEMBERS]) expect((await ask('ben', query)).text).toContain('anna');
    const { revision: before } = await ask('ben', MEMBERS);
    await modify(personDn('anna'), 'employeeType', 'hidden');
    await eventually(async () => (await ask('ben', MEMBERS)).revision !== before, true);
    for (let time = 0; time < 3; time++) {
      for (const query of [LIST, MEMBERS]) {
        for (const who of ['ben', 'machine']) expect((await ask(who, query)).text).not.toContain('anna');
        for (const who of ['vera', 'confidant']) expect((await ask(who, query)).text).toContain('anna');
      }
    }
    expect((await ask('ben', '{ users(first: 1) { totalCount } }')).text).toContain('"totalCount":2');
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
