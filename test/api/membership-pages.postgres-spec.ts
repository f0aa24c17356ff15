import { GraphQLSchemaHost } from '@nestjs/graphql';
import { buildLdif } from '../support/builders/directory.js';
import { TestService } from '../support/servers/service.js';

const PICTURE = Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64');

/** Every field of a user, a group and a role, in a selection of its own. */
const FIELDS: Record<string, Record<string, string>> = {
  User: {
    id: 'id',
    nodeId: 'nodeId',
    name: 'name',
    givenName: 'givenName',
    familyName: 'familyName',
    email: 'email',
    schoolYear: 'schoolYear',
    active: 'active',
    photo: 'photo',
    picture: 'picture(size: 64)',
    createdAt: 'createdAt',
    updatedAt: 'updatedAt',
    groups: 'groups(first: 5) { nodes { group { website } user { email } } }',
    membership: 'membership(group: {id: "team"}) { group { website } role { value } }',
  },
  Group: {
    id: 'id',
    nodeId: 'nodeId',
    name: 'name',
    description: 'description',
    website: 'website',
    email: 'email',
    createdAt: 'createdAt',
    updatedAt: 'updatedAt',
    members: 'members(first: 5) { edges { node { group { website } } } }',
    membership: 'membership(user: {id: "anna"}) { user { email } role { value } }',
    parents: 'parents(first: 5) { nodes { website } }',
    subgroups: 'subgroups(first: 5) { nodes { website } }',
  },
  CurrentGroupMembershipInheritance: {
    value: 'value',
    direct: 'direct',
    inheritedFrom: 'inheritedFrom { website }',
  },
};

const USER = Object.values(FIELDS['User'] ?? {});
const GROUP = Object.values(FIELDS['Group'] ?? {});
const ROLE = Object.values(FIELDS['CurrentGroupMembershipInheritance'] ?? {});

/** Ways to select a field of the nodes of a page. */
const WAYS: [way: string, select: (around: string, field: string) => string][] = [
  ['alone', (around, field) => `nodes { ${around} { found: ${field} } }`],
  [
    'by its edge',
    (around, field) => `nodes { ${around} { __typename } } edges { node { ${around} { found: ${field} } } }`,
  ],
  [
    'beside the same once more',
    (around, field) => `nodes { ${around} { id } } again: nodes { ${around} { found: ${field} } }`,
  ],
  [
    'in fragments',
    (around, field) =>
      `...{ nodes { ... on GroupMembership { ${around} { ... @include(if: true) { found: ${field} } } } } }`,
  ],
];

describe('a page of memberships', () => {
  let service: TestService;
  let authorization: string;

  beforeAll(async () => {
    const anna = { id: 'anna', givenName: 'A', familyName: 'B', email: 'a@example.org', schoolYear: '1A' };
    const group = { description: 'What it is about', email: 'g@example.org' };
    service = await TestService.start({
      ldif: buildLdif(
        [{ ...anna, photo: PICTURE, picture: PICTURE }],
        [
          { ...group, id: 'team', website: 'https://team.example', members: ['anna'] },
          {
            ...group,
            id: 'club',
            website: 'https://club.example',
            members: ['@team', 'anna'],
            owners: ['@team'],
          },
          { ...group, id: 'union', website: 'https://union.example', members: ['@club'] },
        ],
      ),
    });
    authorization = await service.serviceAccount('read', 'directory');
  });

  afterAll(() => service.stop());

  const read = (query: string) => service.read(query, { authorization });

  it('is tested with every field', () => {
    const { schema } = service.app.get(GraphQLSchemaHost);
    for (const [name, fields] of Object.entries(FIELDS)) {
      const type = schema.toConfig().types.find((each) => each.name === name);
      if (type === undefined || !('getFields' in type)) throw new Error(`There is no type ${name}`);
      expect(Object.keys(type.getFields()).sort()).toEqual(Object.keys(fields).sort());
    }
  });

  it.each(WAYS)('has the same users and groups as other fields: selected %s', async (_way, select) => {
    for (const field of USER) {
      await expectEqual(`user(user: {id: "anna"}) { found: ${field} }`, members(select('user', field)));
    }
    for (const field of GROUP) {
      await expectEqual(`group(group: {id: "club"}) { found: ${field} }`, groups(select('group', field)));
    }
  });

  it('has the same users and groups as other fields, also if these are in the same operation', async () => {
    for (const field of USER) {
      const page = `page: users(first: 5, filter: {memberOf: {id: "club"}}) { nodes { found: ${field} } }`;
      await expectEqual(`user(user: {id: "anna"}) { found: ${field} }`, page);
      await expectEqual(
        `user(user: {id: "anna"}) { found: ${field} }`,
        page.replace('memberOf: {id: "club"}', ''),
      );
    }
    for (const field of GROUP) {
      const page = `page: groups(first: 1, filter: {search: "club"}) { edges { node { found: ${field} } } }`;
      await expectEqual(`group(group: {id: "club"}) { found: ${field} }`, page);
    }
  });

  it('has all fields of a role', async () => {
    const all = await read(`{ ${members(`nodes { role { ${ROLE.join(' ')} } }`)} }`);
    expect(nodesIn(all)).toEqual([
      { role: { value: 'OWNER', direct: 'MEMBER', inheritedFrom: [{ website: 'https://team.example' }] } },
    ]);
    for (const [name, field] of Object.entries(FIELDS['CurrentGroupMembershipInheritance'] ?? {})) {
      const one = await read(`{ ${members(`nodes { role { ${field} } }`)} }`);
      expect(nodesIn(one)).toEqual([
        { role: { [name]: (nodesIn(all)[0]?.['role'] as Record<string, unknown>)[name] } },
      ]);
    }
  });

  it('has the fields of a fragment that several places spread', async () => {
    const club = 'group(group: {id: "club"})';
    const document = (variables: string) => `query ($more: Boolean = ${variables}) {
      bare: ${club} { ...Members }
      full: ${club} { ...Members members(first: 5) @include(if: $more) { nodes { user { email } } } }
    }
    fragment Members on Group { members(first: 5) { nodes { user { id } } } }`;
    for (const more of ['true', 'false', 'true']) {
      const email = more === 'true' ? { email: 'a@example.org' } : {};
      expect(await read(document(more))).toEqual({
        bare: { members: { nodes: [{ user: { id: 'anna' } }] } },
        full: { members: { nodes: [{ user: { id: 'anna', ...email } }] } },
      });
    }
  });

  async function expectEqual(whole: string, page: string): Promise<void> {
    const data = await read(`{ whole: ${whole} ${page} }`);
    const { whole: expected } = data as { whole: { found: unknown } };
    expect(expected.found).toBeTruthy();
    expect([page, foundIn(data['page'])]).toEqual([page, [expected.found]]);
  }
});

function members(selection: string): string {
  return `page: group(group: {id: "club"}) { list: members(first: 5) { ${selection} } }`;
}

/** Of the groups of the user, the club only: it comes first. */
function groups(selection: string): string {
  return `page: user(user: {id: "anna"}) { list: groups(first: 1) { ${selection} } }`;
}

function nodesIn(data: Record<string, unknown>): Record<string, unknown>[] {
  return (data['page'] as { list: { nodes: Record<string, unknown>[] } }).list.nodes;
}

/** The value of the alias `found` at any depth. */
function foundIn(value: unknown): unknown[] {
  if (typeof value !== 'object' || value === null) return [];
  if ('found' in value) return [value.found];
  return Object.values(value).flatMap(foundIn);
}
