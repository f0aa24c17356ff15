import { mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildLdif } from '../support/builders/directory.js';
import { TestService } from '../support/servers/service.js';
import { variable } from '../support/servers/store.js';

const MODEL = `scopes: {contact: Phone numbers and rooms.}
users:
  fields:
    phone: {attribute: telephoneNumber, type: String, description: Phone, access: contact, editable: true}
    number: {attribute: employeeNumber, type: Int, description: Number, access: contact, editable: true}
groups:
  fields:
    room: {attribute: roomNumber, type: String, description: Room, access: contact, editable: true}
`;

/** Everyone and every group has secret values. */
const LDIF = buildLdif([{ id: 'eve' }], [{ id: 'club', members: ['eve'] }])
  .trimEnd()
  .replace(/^sn:.*$/gm, '$&\ntelephoneNumber: 4242\nemployeeNumber: 4242')
  .replace(/^member:.*$/gm, '$&\nroomNumber: 4242');

const SHOWN = 'preview { ldif changes { path before after } } userErrors { code message path }';
const USER = `user { id name } ${SHOWN}`;
const GROUP = `group { id name } ${SHOWN}`;

describe('a preview with a token without the scope of a field', () => {
  const service = TestService.forSuite(() => {
    const file = join(mkdtempSync(join(variable('TEST_WORK_DIRECTORY'), 'models-')), 'model.yaml');
    writeFileSync(file, MODEL);
    return { ldif: `${LDIF}\n`, environment: { DIRECTORY_MODEL: file } };
  });

  const send = async (query: string, variables: Record<string, unknown>, ...scopes: string[]) => {
    const authorization = await service.serviceAccount('read', 'directory', 'write', ...(scopes as []));
    return service.query(query, { authorization, variables });
  };

  it.each<[what: string, query: string, variables?: Record<string, unknown>]>([
    ['null', `mutation { updateUser(input: {user: {id: "eve"}, phone: null}) { ${USER} } }`],
    [
      'null beside another field',
      `mutation { updateUser(input: {user: {id: "eve"}, name: "E", number: null}) { ${USER} } }`,
    ],
    [
      'a variable',
      `mutation ($p: String) { updateUser(input: {user: {id: "eve"}, phone: $p}) { ${USER} } }`,
      { p: null },
    ],
    [
      'a default',
      `mutation ($p: String = null) { updateUser(input: {user: {id: "eve"}, phone: $p}) { ${USER} } }`,
    ],
    ['null for a group', `mutation { updateGroup(input: {group: {id: "club"}, room: null}) { ${GROUP} } }`],
  ])('does not remove its value by %s, which would show it', async (_, query, variables = {}) => {
    const { data, errors } = await send(query, variables);
    expect(errors).toMatchObject([
      { extensions: { code: 'INSUFFICIENT_SCOPE', requiredScopes: ['contact'] } },
    ]);
    // A request id has digits, too.
    expect(JSON.stringify([data, errors])).not.toMatch(/\b4242\b/);
    const removed = await send(query, variables, 'contact');
    expect(removed.errors).toEqual([]);
    expect(JSON.stringify(removed.data)).toContain('4242');
  });

  it('does not remove its value after an accepted change with the same variables besides it', async () => {
    const query = `mutation ($i: UpdateUserInput!) { updateUser(input: $i) { ${USER} } }`;
    const user = { user: { id: 'eve' }, name: 'Eve' };
    expect(await send(query, { i: user })).toMatchObject({
      errors: [],
      data: { updateUser: { user: { name: 'Eve' } } },
    });
    const { data, errors } = await send(query, { i: { ...user, phone: null } });
    expect(errors).toMatchObject([{ extensions: { code: 'INSUFFICIENT_SCOPE' } }]);
    expect(JSON.stringify(data ?? null)).not.toContain('4242');
  });

  it('shows none of its values in changes of other fields, roles and members, and deletions', async () => {
    const query = `mutation {
      user: updateUser(input: {user: {id: "eve"}, name: "Eve", givenName: "E"}) { ${USER} }
      group: updateGroup(input: {group: {id: "club"}, name: "Chess", description: "New"}) { ${GROUP} }
      role: updateGroupMember(input: {group: {id: "club"}, user: {id: "eve"}, role: ADMIN}) { membership { role { value } } ${SHOWN} }
      inner: createGroup(input: {id: "inner", name: "Inner", parent: {id: "club"}}) { ${GROUP} }
      gone: deleteGroup(input: {group: {id: "club"}}) { deletedGroupId ${SHOWN} }
    }`;
    const { data, errors } = await send(query, {});
    expect(errors).toEqual([]);
    expect(Object.keys(data ?? {})).toHaveLength(5);
    expect(JSON.stringify(data)).not.toContain('4242');
  });
});
