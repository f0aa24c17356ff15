/** @isolated The suite adds mutations. */
import { buildLdif } from '../support/builders/directory.js';
import { challengeOf, post, refusalOf } from '../support/clients/http.js';
import { addTestMutations, TestMutations } from '../support/builders/mutations.js';
import { TestService } from '../support/servers/service.js';
import { statementsOf } from '../support/builders/statements.js';

const PEOPLE = Array.from({ length: 30 }, (_, index) => ({ id: `p${index}`, name: `Person ${index}` }));
const MANY = Array.from({ length: 20 }, (_, index) => `y${index}`);
const GROUP =
  'id name members(first: 30) { totalCount nodes { user { id groups(first: 3) { nodes { group { name } } } } role { inheritedFrom { name } } } }';
const NESTED = 'parents(first: 5) { totalCount nodes { name subgroups(first: 5) { nodes { name } } } }';
const READ = `{ group(group: {id: "club"}) { ${GROUP} ${NESTED} } }`;

interface ReadGroup {
  name: string;
  members: { totalCount: number; nodes: { user: { groups: { nodes: { group: { name: string } }[] } } }[] };
  parents: { nodes: { subgroups: { nodes: { name: string }[] } }[] };
}
type Payloads = Record<string, { group: ReadGroup } | null>;

describe('a mutation operation', () => {
  let service: TestService;
  let authorization: string;
  let stored: unknown;

  beforeAll(async () => {
    addTestMutations();
    service = await TestService.start({
      ldif: buildLdif(PEOPLE, [
        { id: 'club', name: 'Club', members: [...PEOPLE.slice(10).map(({ id }) => id), '@team'] },
        { id: 'team', name: 'Team', members: PEOPLE.slice(0, 10).map(({ id }) => id) },
        { id: 'school', name: 'School', members: ['@club'] },
        ...MANY.map((id) => ({ id, name: `Yearly ${id}`, members: PEOPLE.map((person) => person.id) })),
      ]),
      environment: { LIMIT_NODES: '100000' },
    });
    authorization = await service.serviceAccount('read', 'write');
    stored = (await service.query(READ, { authorization })).data;
  });

  beforeEach(() => {
    TestMutations.begun = [];
  });

  // After each test, nothing of its changes remains.
  afterEach(async () => {
    expect((await service.query(READ, { authorization })).data).toEqual(stored);
  });

  afterAll(() => service.stop());

  const send = (query: string, token = authorization) =>
    service.query<Payloads>(query, { authorization: token });

  it('shows its change wherever it is visible below the payload', async () => {
    const { data, errors } = await send(
      `mutation { testRename(group: "club", name: "Chess") { group { ${GROUP} ${NESTED} } } }`,
    );
    expect(errors).toEqual([]);
    const group = data?.['testRename']?.group;
    expect(group?.name).toBe('Chess');
    expect(group?.members.totalCount).toBe(30);
    const named = group?.members.nodes.flatMap(({ user }) =>
      user.groups.nodes.map((node) => node.group.name),
    );
    expect(new Set(named)).toEqual(new Set(['Chess', 'School', 'Team', 'Yearly y0']));
    expect(group?.parents.nodes.map(({ subgroups }) => subgroups.nodes)).toEqual([[{ name: 'Chess' }]]);
  });

  it('continues after a mutation whose statement has failed as if it had not been executed', async () => {
    const { status, data, errors } = await send(`mutation {
      before: testRename(group: "team", name: "Crew") { group { name } }
      failed: testRename(group: "club", name: "Chess", fails: "by statement") { group { name } }
      after: testEmpty(group: "club") { group { name subgroups(first: 1) { nodes { name } } } }
    }`);
    expect(status).toBe(200);
    expect(data).toEqual({
      before: { group: { name: 'Crew' } },
      failed: null,
      after: { group: { name: 'Club', subgroups: { nodes: [{ name: 'Crew' }] } } },
    });
    expect(errors.map(({ path, extensions }) => [path, extensions.code])).toEqual([
      [['failed'], 'INTERNAL_SERVER_ERROR'],
    ]);
  });

  it('shows nothing of a payload with an error in the next one', async () => {
    const { data, errors } = await send(`mutation {
      failed: testRename(group: "club", name: "Chess") { group {
        parents(first: 1, after: "nowhere") { totalCount }
        members(first: 30) { nodes { user { groups(first: 5) { nodes { group { parents(first: 5) { nodes { name } } } } } } } }
      } }
      empty: testEmpty(group: "club") { group { members(first: 30) { totalCount nodes { user { groups(first: 5) { totalCount } } } } } }
    }`);
    expect(errors.map(({ extensions }) => extensions.code)).toEqual(['INVALID_CURSOR']);
    const failed = data?.['failed']?.group;
    expect(failed?.parents).toBeNull();
    expect(failed?.members.nodes).toHaveLength(30);
    expect(data?.['empty']).toEqual({ group: { members: { totalCount: 0, nodes: [] } } });
  });

  it('sends the same statements for few members as for many', async () => {
    const sent = (size: number) =>
      statementsOf(() =>
        send(
          `mutation { testRename(group: "club", name: "Chess") { group { members(first: ${size}) { nodes { user { groups(first: 3) { totalCount } } } } } } }`,
        ),
      );
    const [few, many] = [await sent(2), await sent(30)];
    expect(many.map(({ text }) => text)).toEqual(few.map(({ text }) => text));
    expect(many).toHaveLength(3);
  });

  it('is rejected if the token allows none of its mutations', async () => {
    const query = 'mutation { testAdministrate(group: "club") { group { name } } }';
    const refused = await post(service, { query }, { authorization });
    expect(refusalOf(refused)).toEqual([403, 'INSUFFICIENT_SCOPE']);
    expect(challengeOf(refused.headers['www-authenticate'])).toBe(
      'Bearer error="insufficient_scope", scope="directory write"',
    );
    expect(refusalOf(await post(service, { query }))).toEqual([401, 'UNAUTHENTICATED']);
    expect(TestMutations.begun).toEqual([]);
  });

  it('executes only the mutations that the token allows', async () => {
    const writer = await service.serviceAccount('write');
    const { status, data, errors } = await send(
      `mutation {
        beyond: testAdministrate(group: "club") { group { name } }
        within: testRename(group: "club", name: "Chess") { group { name members(first: 1) { totalCount } } }
      }`,
      writer,
    );
    expect(status).toBe(200);
    expect(data).toEqual({ beyond: null, within: { group: { name: 'Chess', members: null } } });
    expect(errors.map(({ path, extensions }) => [path, extensions.code])).toEqual([
      [['beyond'], 'INSUFFICIENT_SCOPE'],
      [['within', 'group', 'members'], 'INSUFFICIENT_SCOPE'],
    ]);
    expect(TestMutations.begun).toEqual(['club Chess']);
  });

  it('has limits and a cost like a query', async () => {
    const nodes = (first: number) =>
      `mutation { testRename(group: "club", name: "Chess") { group { members(first: ${first}) { nodes { user { groups(first: 50) { totalCount } } } } } } }`;
    const { headers } = await post(service, { query: nodes(6) }, { authorization });
    expect(headers['ratelimit']).toContain('directory-cost=4');
    const invalid = await post(service, { query: nodes(101) }, { authorization });
    expect(refusalOf(invalid)).toEqual([400, 'GRAPHQL_VALIDATION_FAILED']);
    expect(TestMutations.begun).toEqual(['club Chess']);
  });

  it('with its type name only needs no transaction', async () => {
    expect((await send('mutation { __typename }')).data).toEqual({ __typename: 'Mutation' });
  });
});
