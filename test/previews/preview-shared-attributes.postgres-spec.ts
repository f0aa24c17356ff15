import { modelSetting } from '../support/builders/model-file.js';
import { sendPreviews } from '../support/clients/previews.js';
import { TestService } from '../support/servers/service.js';

const MODEL = `users:
  id: sAMAccountName
  fields: {addresses: {attribute: mail, type: "[String!]!", description: All addresses.}}
groups: {id: sAMAccountName}
scopes: {confidential: Hidden people.}
visibility: {bypass: confidential, users: [{where: (employeeType=hidden), to: self}]}
`;

const person = (id: string, ...lines: string[]) => `dn: cn=${id},ou=people,dc=example,dc=org
objectClass: inetOrgPerson
sAMAccountName: ${id}
cn: ${id}
sn: ${id}
${lines.join('\n')}
`;
const LDIF = `version: 1

${person('ada', 'mail: a@example.org', 'mail: b@example.org')}
${person('hans', 'employeeType: hidden')}
dn: cn=club,ou=groups,dc=example,dc=org
objectClass: groupOfNames
sAMAccountName: club
cn: club
member: cn=ada,ou=people,dc=example,dc=org
`;

describe('a preview', () => {
  const service = TestService.forSuite(() => ({ ldif: LDIF, environment: modelSetting(MODEL) }));

  it('of a new group is a CONFLICT for the id of a user in a domain, where both have the same ids', async () => {
    const conflictsOf = async (...scopes: string[]) => {
      const authorization = await service.serviceAccount('read', 'directory', 'write', ...scopes);
      const ids = ['ADA', 'hans', 'club', 'other'];
      const { errors } = await sendPreviews(
        service,
        `mutation { ${ids.map((id) => `${id}: createGroup(input: {id: "${id}", name: "New"}) { group { id } }`).join(' ')} }`,
        { authorization },
      );
      return errors.map(({ path, extensions: { code, argument } }) => [path?.[0], code, argument]);
    };
    const ofSeen = ['ADA', 'club'].map((id) => [id, 'CONFLICT', 'id']);
    expect(await conflictsOf()).toEqual(ofSeen);
    expect(await conflictsOf('confidential')).toEqual([ofSeen[0], ['hans', 'CONFLICT', 'id'], ofSeen[1]]);
  });

  it('shows the other fields of a changed attribute as they will be', async () => {
    const { data, errors } = await service.query(
      `mutation { updateUser(input: {user: {id: "ada"}, email: "c@example.org"}) {
        user { email addresses } preview { changes { path before after } } } }`,
      { authorization: await service.serviceAccount('read', 'directory', 'write') },
    );
    expect(errors).toEqual([]);
    expect(data).toEqual({
      updateUser: {
        user: { email: 'c@example.org', addresses: ['b@example.org', 'c@example.org'] },
        preview: {
          changes: [
            { path: ['user', 'email'], before: 'a@example.org', after: 'c@example.org' },
            {
              path: ['user', 'addresses'],
              before: '["a@example.org","b@example.org"]',
              after: '["b@example.org","c@example.org"]',
            },
          ],
        },
      },
    });
  });
});
