import { mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildLdif } from '../support/builders/directory.js';
import { writeClients } from '../support/clients/clients.js';
import { TestService } from '../support/servers/service.js';
import { variable } from '../support/servers/store.js';

const FIELDS = `users:
  fields:
    phone: {attribute: telephoneNumber, type: String, description: Phone, visibleTo: groupAdmins, filterable: true}
groups:
  fields:
    budget: {attribute: roomNumber, type: String, description: Budget, visibleTo: groupAdmins}
    plan: {attribute: o, type: String, description: Plan, visibleTo: self}
`;
const RULES = `scopes: {confidential: Hidden people.}
visibility:
  bypass: confidential
  users: [{where: (employeeType=hidden), to: groupAdmins}]
`;

/** Everyone has a phone number, and every group a budget and a plan. The viewer is ADMIN of the club. */
const LDIF = buildLdif(
  ['vera', 'ben', 'dan', 'hans'].map((id) => ({ id })),
  [
    { id: 'club', members: ['ben'], admins: ['vera'] },
    { id: 'choir', members: ['vera', 'dan', 'hans'] },
  ],
)
  .split('\n\n')
  .map((record) => {
    const dn = Buffer.from(/^dn:: (\S+)$/m.exec(record)?.[1] ?? '', 'base64').toString();
    const lines = dn.startsWith('uid=') ? ['telephoneNumber: 7'] : ['roomNumber: 8', 'o: 9'];
    return dn === ''
      ? record
      : [record.trimEnd(), ...lines, ...(/=hans,/.test(dn) ? ['employeeType: hidden'] : [])].join('\n');
  })
  .join('\n\n');

describe.each([
  ['hides nothing', FIELDS, [{ user: { id: 'hans', phone: null } }]],
  ['hides a user', FIELDS + RULES, []],
])('a preview in a directory that %s', (_title, model, hans) => {
  const service = TestService.forSuite(() => {
    const file = join(mkdtempSync(join(variable('TEST_WORK_DIRECTORY'), 'models-')), 'model.yaml');
    writeFileSync(file, model);
    return {
      ldif: `${LDIF}\n`,
      environment: {
        DIRECTORY_MODEL: file,
        AUTH_EMBEDDED_CLIENTS: writeClients([{ id: 'viewer-app', owner: 'vera' }]),
      },
    };
  });

  it('shows its viewer no field or user that only its own roles and memberships would show', async () => {
    const authorization = await service.accessToken('profile read directory write', 'viewer-app');
    const group = `group {
      members(first: 9) { nodes { user { id phone } } }
      found: members(first: 9, filter: {phone: {is: "7"}}) { totalCount }
      budget plan }`;
    const answer = await service.read(
      `mutation {
        promoted: updateGroupMember(input: {group: {id: "choir"}, user: {id: "vera"}, role: OWNER}) {
          membership { role { value } ${group} } }
        joined: addGroupMember(input: {group: {id: "club"}, user: {id: "dan"}}) { membership { ${group} } }
        removed: removeGroupMember(input: {group: {id: "club"}, user: {id: "vera"}}) { ${group} }
        later: updateUser(input: {user: {id: "dan"}, name: "Daniel"}) { user { name phone } }
      }`,
      { authorization },
    );
    const vera = { user: { id: 'vera', phone: '7' } };
    const ben = { user: { id: 'ben', phone: '7' } };
    const dan = { user: { id: 'dan', phone: null } };
    const club = { budget: '8', plan: null };
    expect(answer).toEqual({
      promoted: {
        membership: {
          role: { value: 'OWNER' },
          group: {
            members: { nodes: [dan, ...hans, vera] },
            found: { totalCount: 1 },
            budget: null,
            plan: null,
          },
        },
      },
      joined: {
        membership: { group: { members: { nodes: [ben, dan, vera] }, found: { totalCount: 2 }, ...club } },
      },
      removed: { group: { members: { nodes: [ben, dan] }, found: { totalCount: 1 }, ...club } },
      later: { user: { name: 'Daniel', phone: null } },
    });
  });
});
