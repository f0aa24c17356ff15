import { mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildLdif, groupDn } from '../support/builders/directory.js';
import { writeClients } from '../support/clients/clients.js';
import { sendPreviews } from '../support/clients/previews.js';
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

function serviceOf(ldif: string, model: string) {
  const file = join(mkdtempSync(join(variable('TEST_WORK_DIRECTORY'), 'models-')), 'model.yaml');
  writeFileSync(file, model);
  return {
    ldif,
    environment: {
      DIRECTORY_MODEL: file,
      AUTH_EMBEDDED_CLIENTS: writeClients([{ id: 'viewer-app', owner: 'vera' }]),
    },
  };
}

describe('the deletion of a group whose members are hidden', () => {
  const rules = `scopes: {confidential: Hidden people.}
visibility:
  bypass: confidential
  members: [{where: (cn=choir), to: members}]
`;
  const nested = buildLdif(
    ['ben', 'dan', 'vera'].map((id) => ({ id })),
    [
      { id: 'choir', members: ['dan'], owners: ['vera'] },
      { id: 'everyone', members: ['@choir', 'ben'] },
    ],
  );
  const service = TestService.forSuite(() => serviceOf(nested, rules));
  const query = `mutation {
    deleteGroup(input: {group: {id: "choir"}}) { deletedGroupId }
    addGroupMember(input: {group: {id: "everyone"}, user: {id: "vera"}}) {
      membership { group { members(first: 9) { nodes { user { id } } } } }
    }
  }`;

  it('is for viewers who see them, because the outer groups show the difference', async () => {
    const outside = await service.serviceAccount('read', 'directory', 'write');
    const { data, errors } = await sendPreviews(service, query, { authorization: outside });
    expect(errors.map(({ path, extensions }) => [path, extensions.code])).toEqual([
      [['deleteGroup'], 'FORBIDDEN'],
    ]);
    const ids = ['ben', 'dan', 'vera'];
    expect(data).toMatchObject({
      addGroupMember: { membership: { group: { members: { nodes: ids.map((id) => ({ user: { id } })) } } } },
    });
  });

  it.each(['owner', 'account'])('shows the members that remain to an %s who sees them', async (kind) => {
    const authorization =
      kind === 'owner'
        ? await service.accessToken('profile read directory write', 'viewer-app')
        : await service.serviceAccount('read', 'directory', 'write', 'confidential');
    const { data, errors } = await sendPreviews(service, query, { authorization });
    expect(errors).toEqual([]);
    expect(JSON.stringify(data)).not.toContain('dan');
  });
});

describe.each([
  ['hides nothing', FIELDS, [{ user: { id: 'hans', phone: null } }]],
  ['hides a user', FIELDS + RULES, []],
])('a preview in a directory that %s', (_title, model, hans) => {
  const service = TestService.forSuite(() => serviceOf(`${LDIF}\n`, model));

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

describe('a preview of a new group', () => {
  const MODEL = `users:
  memberOf: businessCategory
  fields:
    phone: {attribute: telephoneNumber, type: String, description: Phone, visibleTo: groupAdmins}
    likes: {attribute: seeAlso, type: Group, description: Liked., reverse: likedBy}
groups:
  fields:
    area: {attribute: seeAlso, type: Group, description: Area., reverse: areaOf}
scopes: {confidential: Hidden groups.}
visibility:
  bypass: confidential
  users: [{where: (employeeType=hidden), to: groupAdmins}]
  groups: [{where: (description=secret), to: members}]
`;
  /** The group `unseen` is hidden, and `later` does not exist. */
  const NAMING: Record<string, string[]> = {
    vera: [`seeAlso: ${groupDn('unseen')}`],
    dan: [
      `businessCategory: ${groupDn('unseen')}`,
      `businessCategory: ${groupDn('later')}`,
      'telephoneNumber: 7',
    ],
    hans: [`businessCategory: ${groupDn('later')}`, 'employeeType: hidden'],
    club: [`seeAlso: ${groupDn('unseen')}`],
  };
  const DIRECTORY = buildLdif(
    ['vera', 'ben', 'dan', 'hans'].map((id) => ({ id })),
    [
      { id: 'club', members: ['ben'] },
      { id: 'unseen', members: ['ben'], description: 'secret' },
    ],
  )
    .split('\n\n')
    .map((record) => {
      const dn = Buffer.from(/^dn:: (\S+)$/m.exec(record)?.[1] ?? '', 'base64').toString();
      const id = /^\w+=(\w+),/.exec(dn)?.[1] ?? '';
      return [record.trimEnd(), ...(NAMING[id] ?? [])].join('\n');
    })
    .join('\n\n');
  const service = TestService.forSuite(() => serviceOf(`${DIRECTORY}\n`, MODEL));

  const create = (authorization: string, id: string, more = '') =>
    service.query(
      `mutation { createGroup(input: {id: "${id}", name: "New"${more}}) {
        group { members(first: 9) { totalCount nodes { user { id phone } } }
          parents(first: 9) { nodes { id members(first: 9) { nodes { user { id } } } } }
          likedBy(first: 9) { totalCount nodes { id } } areaOf(first: 9) { totalCount nodes { id } } } } }`,
      { authorization },
    );
  const EMPTY = { totalCount: 0, nodes: [] };
  const NEW = { members: EMPTY, parents: { nodes: [] }, likedBy: EMPTY, areaOf: EMPTY };

  it('with the id of a hidden one shows nothing that refers to the hidden one', async () => {
    const authorization = await service.serviceAccount('read', 'directory', 'write');
    for (const id of ['unseen', 'another']) {
      const { data, errors } = await create(authorization, id);
      expect({ data, errors }).toEqual({ data: { createGroup: { group: NEW } }, errors: [] });
    }
    const { data } = await create(authorization, 'later');
    // The creator administers the new group only in the preview, which shows nothing more of its members.
    const members = { totalCount: 1, nodes: [{ user: { id: 'dan', phone: null } }] };
    expect(data).toEqual({ createGroup: { group: { ...NEW, members } } });
  });

  it('is a CONFLICT for a token that cannot read its members if users name it already', async () => {
    const authorization = await service.accessToken('write', 'viewer-app');
    const codes = async (id: string) => {
      const { errors } = await sendPreviews(
        service,
        `mutation { createGroup(input: {id: "${id}", name: "New"}) { preview { ldif } } }`,
        { authorization },
      );
      return errors.map(({ extensions }) => extensions.code);
    };
    expect(await codes('later')).toEqual(['CONFLICT']);
    expect(await codes('unseen')).toEqual([]);
    expect(await codes('another')).toEqual([]);
  });

  it('shows it to an account that is limited to other groups, and nothing outside of the limit', async () => {
    const authorization = await service.limitedAccount(['club'], 'read', 'directory', 'write');
    for (const id of ['later', 'unseen', 'another']) {
      const { data, errors } = await create(authorization, id);
      expect({ data, errors }).toEqual({ data: { createGroup: { group: NEW } }, errors: [] });
      const inside = await create(authorization, id, ', parent: {id: "club"}');
      const club = { id: 'club', members: { nodes: [{ user: { id: 'ben' } }] } };
      expect(inside.errors).toEqual([]);
      expect(inside.data).toEqual({ createGroup: { group: { ...NEW, parents: { nodes: [club] } } } });
    }
  });
});
