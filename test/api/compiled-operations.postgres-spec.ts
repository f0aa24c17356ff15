import { nodeIdOf } from '../../src/common/identity.js';
import { buildLdif } from '../support/builders/directory.js';
import { Executions } from '../support/builders/executions.js';
import { writeClients } from '../support/clients/clients.js';
import { post } from '../support/clients/http.js';
import { TestService } from '../support/servers/service.js';

const ANNA = '00000000-0000-4000-8000-000000000001';
const NODE_IDS = [nodeIdOf('User', ANNA), nodeIdOf('Profile', ANNA), nodeIdOf('Group', ANNA), 'x'];

interface Case {
  readonly query: string;
  /** Each with a request of its own. */
  readonly variables?: readonly Record<string, unknown>[];
  readonly operationName?: string;
}

const CASES: Readonly<Record<string, Case>> = {
  'aliases that are members of JavaScript objects': {
    query: `{ constructor: user(user: {id: "anna"}) { then: name toString: id length: nodeId toJSON: email __a: schoolYear
      hasOwnProperty: groups(first: 2) { nodes: totalCount valueOf: nodes { group { name: id id: name } } } } }`,
  },
  'an alias that is the prototype': { query: '{ user(user: {id: "anna"}) { __proto__: name id } }' },
  'selections that merge': {
    query: `{ user(user: {id: "anna"}) { id } ...Q user(user: {id: "anna"}) { name ...F ...F } }
      fragment Q on Query { user(user: {id: "anna"}) { groups(first: 2) { totalCount } } }
      fragment F on User { id groups(first: 2) { nodes { group { id } } pageInfo { hasNextPage } } }`,
  },
  'values, defaults, null and no value': {
    query: `query ($id: String! = "anna", $first: Int = 2, $filter: GroupFilter, $root: Boolean, $size: Int, $order: OrderDirection = DESC) {
      user(user: {id: $id}) { id photo(size: $size) }
      groups(first: $first, filter: $filter, orderBy: {field: NAME, direction: $order}) { nodes { id } totalCount }
      roots: groups(first: 5, filter: {isRoot: $root, ids: ["club", "team"]}) { nodes { id } } }`,
    variables: [
      {},
      { id: 'ben', first: 1, order: 'ASC', root: true, size: 64 },
      { filter: null, root: null, size: null },
      { filter: { isRoot: true, search: 'an' }, root: false },
      { filter: { ids: [] }, first: 0 },
      { id: null },
      { first: 'x' },
      { first: -1, order: 'UP' },
      { filter: { unknown: 1 } },
    ],
  },
  'dates, and defaults of members of objects': {
    query: `query ($since: DateTime = "2020-01-01T00:00:00Z", $strict: Boolean, $filter: UserFilter) {
      since: users(first: 2, filter: {updatedSince: $since}) { totalCount }
      owners: users(first: 2, filter: {inGroup: {group: {id: "club"}, role: {is: OWNER, strict: $strict}}}) { nodes { id } }
      found: users(first: 2, filter: $filter) { nodes { id } } }`,
    variables: [
      {},
      { since: null, strict: true, filter: { inGroup: { group: { id: 'club' }, role: { is: 'OWNER' } } } },
      { since: '2999-12-31T23:59:59.999+02:00', strict: null },
      { since: 'yesterday' },
    ],
  },
  conditions: {
    query: `query ($yes: Boolean!, $no: Boolean = false) { user(user: {id: "anna"}) {
        id @include(if: $yes) name @skip(if: $yes) @include(if: $no) ... @include(if: $no) { email }
        ...F @skip(if: $no) groups(first: 1) @include(if: $yes) { totalCount @skip(if: $no) __typename } }
      users(first: 1) @skip(if: $yes) { totalCount } } fragment F on User { schoolYear name @include(if: $yes) }`,
    variables: [{ yes: true }, { yes: false }, { yes: true, no: true }, { yes: false, no: null }, {}],
  },
  'unions and interfaces': {
    query: `query ($ids: [ID!]!) { search(query: "an", first: 5) { nodes { __typename ...N ... on User { id name ...P } ... on Group { id label: name } } }
      nodes(nodeIds: $ids) { ...N ...P ... on Profile { user { id } } ... on Group { id } } }
      fragment N on Node { nodeId } fragment P on Person { givenName ... on User { active } }`,
    variables: [{ ids: NODE_IDS }, { ids: [] }, { ids: NODE_IDS[0] }],
  },
  'errors in several places': {
    query: `{ a: user(user: {id: "nobody"}) { id } b: groups(first: 1, after: "forged") { totalCount }
      users(first: 3) { nodes { id membership(group: {id: "unknown"}) { role { value } } } } profile { user { id } name } }`,
  },
  'roles on several levels': {
    query: `{ group(group: {id: "club"}) { members(last: 3, filter: {role: {is: MEMBER}}) { edges { cursor node { user { id } role { value direct inheritedFrom { id } } } } }
      parents(first: 1) { nodes { id subgroups(first: 2) { nodes { id } } } } } isMember(user: {id: "ben"}, group: {id: "club"}) }`,
  },
  introspection: {
    query:
      '{ __typename __schema { queryType { name } } __type(name: "User") { name kind } users(first: 1) { nodes { id } } }',
  },
  'one of several operations': {
    query: 'query A { user(user: {id: "anna"}) { id } } query B { users(first: 1) { totalCount } }',
    operationName: 'B',
  },
  'none of several operations': {
    query: 'query A { user(user: {id: "anna"}) { id } } query B { users(first: 1) { totalCount } }',
    operationName: 'C',
  },
};

/** A response whose errors are in the order of their paths: fields that are resolved at the same time fail in any order. */
function inOrder(body: string): string {
  const { errors, ...rest } = JSON.parse(body) as { errors?: { path?: unknown }[] };
  const pathOf = ({ path }: { path?: unknown }) => JSON.stringify(path ?? null);
  errors?.sort((left, right) => (pathOf(left) < pathOf(right) ? -1 : 1));
  return (errors ?? []).length < 2 ? body : JSON.stringify({ errors, ...rest });
}

/** The service executes each operation compiled and by graphql-js, and fails at its end if the responses differ. */
describe('a compiled operation', () => {
  const service = TestService.forSuite(() => ({
    ldif: buildLdif(
      [
        { id: 'anna', name: 'Anna', givenName: 'A', email: 'anna@example.org', uuid: ANNA },
        { id: 'ben', name: 'Ben', schoolYear: '1A' },
      ],
      [
        { id: 'club', name: 'Clan', members: ['anna', '@team'], owners: ['anna'] },
        { id: 'team', name: 'Team', members: ['ben', '@club'] },
      ],
    ),
    environment: { AUTH_EMBEDDED_CLIENTS: writeClients([{ id: 'client', owner: 'anna' }]) },
  }));
  let executions: Executions;

  beforeAll(() => {
    executions = new Executions(service.app);
  });

  it.each(Object.entries(CASES))(
    'has the response of graphql-js, also from the cache: %s',
    async (...row) => {
      const [, { variables = [{}], ...operation }] = row;
      for (const scope of ['profile read directory', 'read', 'profile']) {
        const authorization = await service.accessToken(scope, 'client');
        for (const values of variables) {
          const send = async () => {
            const request = { ...operation, variables: values };
            const answer = await post(service, request, { authorization, 'x-request-id': 'the-same' });
            return [answer.status, answer.headers['content-type'], inOrder(answer.body)];
          };
          const first = await send();
          expect(first[2]).not.toContain('INTERNAL_SERVER_ERROR');
          for (let time = 0; time < 2; time++) expect(await send()).toEqual(first);
        }
      }
    },
  );

  it('is what half of them are', () => expect(executions.compiled).toBeGreaterThan(executions.count / 2.2));
});
