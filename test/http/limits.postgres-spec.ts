import { parse, print } from 'graphql';
import { buildLdif } from '../support/builders/directory.js';
import { dataOf, post } from '../support/clients/http.js';
import { TestService } from '../support/servers/service.js';

const service = TestService.forSuite({
  ldif: buildLdif(
    [{ id: 'anna' }, { id: 'ben' }],
    [
      { id: 'club', members: ['anna', '@team'] },
      { id: 'team', members: ['ben'] },
    ],
  ),
});
let authorization: string;

beforeAll(async () => {
  authorization = await service.serviceAccount('read');
});

const sendRequest = (query: string, variables?: Record<string, unknown>) =>
  post(service, { query, variables }, { authorization });

const repeat = (count: number, text: (index: number) => string) =>
  Array.from({ length: count }, (_, index) => text(index)).join(' ');

/** An operation whose deepest field is on this level: `{ a { b } }` has two. */
function nested(levels: number): string {
  // group, then subgroups and nodes in turn, then id.
  const steps = Array.from({ length: levels - 2 }, (_, index) =>
    index % 2 === 0 ? 'subgroups(first: 1)' : 'nodes',
  );
  const innermost = steps.at(-1) === 'nodes' || steps.length === 0 ? 'id' : 'totalCount';
  return `${steps.map((step) => `${step} { `).join('')}${innermost}${' }'.repeat(steps.length)}`;
}

describe('the requested nodes of an operation', () => {
  const members = (first: number, inside: string) =>
    `{ group(group: {id: "club"}) { members(first: ${first}) { nodes { user { ${inside} } } } } }`;
  const priceOf = async (query: string, variables?: Record<string, unknown>) => {
    const asked = print(parse(query)).replace('{', '{ rateLimit(dryRun: true) { nodeCount cost }');
    return dataOf(await sendRequest(asked, variables));
  };

  it('determine the cost: a point per hundred or part of it, and at least one', async () => {
    for (const [query, nodeCount, cost] of [
      ['{ __typename }', 0, 1],
      ['{ groups(first: 0) { totalCount } }', 0, 1],
      ['{ groups(first: 100) { totalCount } }', 100, 1],
      ['{ groups(first: 100) { totalCount } search(query: "an", last: 1) { totalCount } }', 101, 2],
      [members(10, 'groups(first: 5) { totalCount }'), 60, 1],
      [members(99, 'groups(first: 100) { totalCount }'), 9999, 100],
      ['{ ...F ...F } fragment F on Query { groups(first: 50) { totalCount } }', 50, 1],
    ] as const) {
      expect([query, await priceOf(query)]).toEqual([query, { rateLimit: { nodeCount, cost } }]);
    }
  });
});

describe('an operation that is too complex', () => {
  const page = (inside: string) => `groups(first: 100) { nodes { ${inside} } }`;
  const members = (alias: string, inside = 'totalCount') => `${alias}members(first: 100) { ${inside} }`;
  const cases = [
    [
      'nodes',
      `{ ${page(`subgroups(first: 1) { nodes { id } } ${members('')} ${members('all: ')}`)} }`,
      'This operation has 20200 requested nodes: at most 20000 are allowed. Most nodes are in groups.nodes.members: 10000',
    ],
    [
      'nodes under aliases and in fragments',
      `{ ...A } fragment A on Query { clubs: ${page(`...B`)} } fragment B on Group { few: members(first: 99) { totalCount } ${members('all: ', 'nodes { user { groups(first: 2) { totalCount } } }')} }`,
      'This operation has 40000 requested nodes: at most 20000 are allowed. Most nodes are in clubs.nodes.all.nodes.user.groups: 20000',
    ],
    [
      'nodes on an edge, beyond what an integer of GraphQL can have',
      `{ ${page(page(page('ID').replace('groups', 'parents')).replace('groups', 'subgroups')).replace('ID', page(page('id').replace('groups', 'parents')).replace('groups', 'subgroups'))} }`,
      'This operation has 2147483647 requested nodes: at most 20000 are allowed. Most nodes are in groups.nodes.subgroups.nodes.parents.nodes.subgroups.nodes.parents: 2147483647',
    ],
    [
      'values',
      `{ ${page(members('', `nodes { ${repeat(30, (at) => `a${at}: user { id name }`)} }`))} }`,
      'This operation has 920200 values in its response: at most 500000 are allowed. Most nodes are in groups.nodes.members: 10000',
    ],
    [
      'levels',
      `{ group(group: {id: "club"}) { ${nested(13)} } }`,
      'This operation has 13 levels: at most 12 are allowed. The deepest field is group.subgroups.nodes.subgroups.nodes.subgroups.nodes.subgroups.nodes.subgroups.nodes.subgroups.totalCount',
    ],
  ] as const;

  it.each(cases)(
    'is rejected with the number, the limit and the place: %s',
    async (_what, query, message) => {
      const { status, body } = await sendRequest(query);
      expect([status, JSON.parse(body)]).toEqual([
        400,
        {
          errors: [
            { message, extensions: { code: 'QUERY_TOO_COMPLEX', requestId: expect.any(String) as string } },
          ],
        },
      ]);
    },
  );
});
