/** @isolated It adds to the table of fields. */
import { DataSource } from 'typeorm';
import { USER_FIELDS } from '../../src/users/user.fields.js';
import { CUSTOM_FIELDS_OF_USERS, customFieldsLdif } from '../support/builders/custom-fields.js';
import { statementsOf } from '../support/builders/statements.js';
import { stopFollowing } from '../support/clients/mirror.js';
import { TestService } from '../support/servers/service.js';

const NAMES = CUSTOM_FIELDS_OF_USERS.map(({ name }) => name).join(' ');
const USERS = `users(first: 9, filter: {memberOf: {id: "club"}}) { nodes { id ${NAMES} } }`;
const MEMBERS = `group(group: {id: "club"}) { members(first: 9) { nodes { user { id ${NAMES} } } } }`;

describe('custom fields in pages of members', () => {
  let service: TestService;
  let dataSource: DataSource;
  let authorization: string;
  let requests = 0;

  beforeAll(async () => {
    USER_FIELDS.push(...CUSTOM_FIELDS_OF_USERS);
    service = await TestService.start({ ldif: customFieldsLdif() });
    await stopFollowing(service);
    dataSource = service.app.get(DataSource);
    authorization = await service.serviceAccount('read', 'directory', 'write');
  });

  afterAll(() => service.stop());

  /** No response is from the cache, because tests write without a new revision. */
  const ask = (fields: string) => service.read(`{ ${fields} } # ${requests++}`, { authorization });

  const carriedOf = (id: string) =>
    dataSource.query<{ values: unknown }[]>(
      'select user_field_values as values from effective_memberships where user_id = $1',
      [id],
    );

  async function compareMembers(): Promise<string> {
    const { users, group } = (await ask(`${USERS} ${MEMBERS}`)) as {
      users: { nodes: unknown[] };
      group: { members: { nodes: { user: unknown }[] } };
    };
    expect(group.members.nodes.map(({ user }) => user)).toEqual(users.nodes);
    return JSON.stringify(users);
  }

  it('are those of the users, without a join', async () => {
    expect(await carriedOf('ben')).toMatchObject([{ values: { phone: '+41 44 ao 2' } }]);
    expect(await compareMembers()).toContain('+41 44 ao 2');
    const [statement] = await statementsOf(() =>
      ask('group(group: {id: "club"}) { members(first: 9) { nodes { user { phone hours } } } }'),
    );
    expect(statement?.text).not.toMatch(/join users/);
  });

  it.each(['+41 44 new', 'long '.repeat(90).trim()])('follow a value that changes: %#', async (phone) => {
    const base64 = (text: string) => Buffer.from(text).toString('base64');
    service.replaceDirectory(customFieldsLdif().replace(base64('+41 44 ao 2'), base64(phone)));
    expect(await service.synchronize()).toMatchObject({ kind: 'applied' });
    expect(await compareMembers()).toContain(phone);
    const isCarried = phone.length < 100;
    expect(await carriedOf('ben')).toMatchObject([{ values: isCarried ? { phone } : null }]);
  });

  it('are read from the users of memberships that do not carry them', async () => {
    await dataSource.query('update effective_memberships set user_field_values = null');
    expect(await compareMembers()).toContain('+41 44 ÄÖ');
  });

  it('are none where values have another type', async () => {
    const values = { phone: [1], isExternal: 'constructor', endsAt: 7, tags: null, homepage: false };
    await dataSource.query(`update users set field_values = $1 where id = 'cleo'`, [JSON.stringify(values)]);
    expect(await compareMembers()).not.toContain('constructor');
  });
});
