/** @isolated It adds to the table of fields. */
import { DataSource } from 'typeorm';
import { USER_FIELDS } from '../../src/users/user.fields.js';
import { CUSTOM_FIELDS_OF_USERS, customFieldsLdif } from '../support/builders/custom-fields.js';
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

  async function compareMembers(): Promise<string> {
    const { users, group } = (await ask(`${USERS} ${MEMBERS}`)) as {
      users: { nodes: unknown[] };
      group: { members: { nodes: { user: unknown }[] } };
    };
    expect(group.members.nodes.map(({ user }) => user)).toEqual(users.nodes);
    return JSON.stringify(users);
  }

  it('are those of the users', async () => {
    expect(await compareMembers()).toContain('+41 44 ao 2');
  });

  it.each(['+41 44 new', 'long '.repeat(90).trim()])('follow a value that changes: %#', async (phone) => {
    const base64 = (text: string) => Buffer.from(text).toString('base64');
    service.replaceDirectory(customFieldsLdif().replace(base64('+41 44 ao 2'), base64(phone)));
    expect(await service.synchronize()).toMatchObject({ kind: 'applied' });
    expect(await compareMembers()).toContain(phone);
  });

  it('are none where values have another type', async () => {
    const values = { phone: [1], isExternal: 'constructor', endsAt: 7, tags: null, homepage: false };
    await dataSource.query(`update users set field_values = $1 where id = 'cleo'`, [JSON.stringify(values)]);
    expect(await compareMembers()).not.toContain('constructor');
  });
});
