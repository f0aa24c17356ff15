import { buildLdif } from '../support/builders/directory.js';
import { TestService } from '../support/servers/service.js';
import { statementsOf } from '../support/builders/statements.js';

const PEOPLE = Array.from({ length: 120 }, (_, index) => ({
  id: index === 0 ? 'ada.martin' : `p${index}`,
  name: `Person ${index}`,
  schoolYear: '1A',
}));
const GROUPS = [
  { id: 'whole', members: PEOPLE.map(({ id }) => id) },
  ...Array.from({ length: 110 }, (_, index) => ({
    id: `g${index}`,
    name: `Club of Persons ${index}`,
    members: ['@whole', `p${index + 1}`],
    owners: ['ada.martin'],
  })),
];
const PAGE_INFO = 'pageInfo { hasNextPage hasPreviousPage startCursor endCursor }';
const ROLE = 'role { value direct inheritedFrom { id name } }';

/** Operations with `SIZE` for the size of their outermost page. */
const OPERATIONS: Record<string, string> = {
  'a person': '{ user(user: {id: "p1"}) { id name photo picture updatedAt } }',
  'a group': '{ group(group: {id: "g1"}) { id name website } }',
  'whether a user is a member': '{ isMember(user: {id: "p1"}, group: {id: "g1"}, role: {is: ADMIN}) }',
  'the state of the mirror': '{ directoryStatus { state asOf blockedReason } }',
  people: `{ users(SIZE) { totalCount ${PAGE_INFO} nodes { id name photo picture } } }`,
  'people by year': `{ users(SIZE, filter: {schoolYear: "1A", updatedSince: "2020-01-01T00:00:00Z"}, orderBy: {field: SCHOOL_YEAR}) { totalCount ${PAGE_INFO} nodes { id } } }`,
  'people of a group': `{ users(SIZE, filter: {memberOf: {id: "whole"}, role: {is: MEMBER}}) { totalCount nodes { id } } }`,
  'people by part of a name': '{ users(SIZE, filter: {search: "person"}) { totalCount nodes { id } } }',
  groups: `{ groups(SIZE) { totalCount ${PAGE_INFO} nodes { id name } } }`,
  'groups by size': `{ groups(SIZE, orderBy: {field: MEMBER_COUNT, direction: DESC}) { nodes { id } } }`,
  'groups of a person by name':
    '{ groups(SIZE, filter: {hasMember: {id: "p1"}, role: {is: MEMBER}}) { totalCount nodes { id } } }',
  'members with their roles': `{ group(group: {id: "whole"}) { members(SIZE) { totalCount ${PAGE_INFO} nodes { user { id name photo } ${ROLE} } } } }`,
  'members as a page shows them':
    '{ group(group: {id: "whole"}) { members(SIZE) { nodes { role { value } user { id name schoolYear photo picture } } pageInfo { hasNextPage } } } }',
  'members by what only they know':
    '{ group(group: {id: "whole"}) { members(SIZE) { edges { node { user { email createdAt } } } } } }',
  'members by role': `{ group(group: {id: "g1"}) { members(SIZE, orderBy: {field: ROLE, direction: DESC}, filter: {origin: NESTED, search: "person"}) { totalCount nodes { user { id } ${ROLE} } } } }`,
  'groups of a person': `{ user(user: {id: "ada.martin"}) { groups(SIZE) { totalCount ${PAGE_INFO} nodes { group { id } ${ROLE} } } } }`,
  'groups as a page shows them':
    '{ user(user: {id: "ada.martin"}) { groups(SIZE) { nodes { role { value } group { id name } } } } }',
  'groups of oneself': `{ profile { id photo user { id } groups(SIZE) { totalCount nodes { group { id } ${ROLE} } } } }`,
  'groups around a group': `{ group(group: {id: "whole"}) { parents(SIZE) { totalCount ${PAGE_INFO} nodes { id } } } }`,
  'groups inside a group': `{ group(group: {id: "g1"}) { subgroups(SIZE) { totalCount ${PAGE_INFO} nodes { id } } } }`,
  'a search': `{ search(query: "person", SIZE) { totalCount ${PAGE_INFO} nodes { ... on User { id name photo } ... on Group { id name } } } }`,
  changes: `{ changes(SIZE) { totalCount ${PAGE_INFO} nodes { id kind at userId user { id name photo } groupId group { id name } roleBefore roleAfter } } }`,
  'changes of some kinds': `{ changes(SIZE, filter: {kinds: [USER_CREATED, MEMBER_ADDED], since: "2020-01-01T00:00:00Z"}) { totalCount ${PAGE_INFO} nodes { id } } }`,
  'changes of a person in a group':
    '{ changes(SIZE, filter: {user: {id: "p1"}, group: {id: "g0"}}) { totalCount nodes { id } } }',
  'three levels': `{ groups(SIZE) { nodes { id members(first: 5) { totalCount nodes { ${ROLE} user { id photo groups(first: 3) { totalCount nodes { ${ROLE} group { id parents(first: 2) { nodes { id } } } } } } } } } } }`,
};

describe('an operation', () => {
  const service = TestService.forSuite({
    ldif: buildLdif(PEOPLE, GROUPS),
    logged: true,
    // Every response is read.
    environment: { LIMIT_NODES: '100000', RESPONSE_CACHE_MEGABYTES: '0' },
    compared: false,
  });
  let authorization: string;
  let profileToken: string;

  beforeAll(async () => {
    authorization = await service.serviceAccount('read', 'directory');
    profileToken = await service.accessToken('profile read');
  });

  it.each(Object.entries(OPERATIONS))(
    'for %s sends the same statements for a page of two and of a hundred',
    async (name, operation) => {
      const [few, many] = [await send(operation, 'first: 2'), await send(operation, 'first: 100')];
      expect(many).toEqual(few);
      expect(many.length).toBeLessThanOrEqual(10);
      expect(many).toMatchSnapshot(name);
    },
  );

  it('without nodes sends a statement for the total only', async () => {
    const [counted, ...rest] = (await send('{ users(first: 100) { totalCount } }', '')).filter(
      (text) => !text.startsWith('select revision'),
    );
    expect(rest).toEqual([]);
    expect(counted).toMatch(/user_count/);
  });

  async function send(operation: string, size: string): Promise<string[]> {
    const token = operation.includes('profile') ? profileToken : authorization;
    const statements = await statementsOf(async () => {
      await service.read(operation.replace('SIZE', size), { authorization: token });
    });
    return statements.map(({ text }) => text);
  }
});
