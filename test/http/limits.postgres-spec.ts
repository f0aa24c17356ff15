import { parse, print } from 'graphql';
import { buildLdif } from '../support/builders/directory.js';
import { dataOf, post, refusalOf } from '../support/clients/http.js';
import { TestService } from '../support/servers/service.js';

const TOO_COMPLEX = [400, 'QUERY_TOO_COMPLEX'];
const INVALID = [400, 'GRAPHQL_VALIDATION_FAILED'];
const BAD_INPUT = [400, 'BAD_USER_INPUT'];

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

describe('the depth of an operation', () => {
  it('is at most 12', async () => {
    expect((await sendRequest(`{ group(group: {id: "club"}) { ${nested(12)} } }`)).status).toBe(200);
    expect(refusalOf(await sendRequest(`{ group(group: {id: "club"}) { ${nested(13)} } }`))).toEqual(
      TOO_COMPLEX,
    );
  });

  it('includes fields in fragments, without a level for the fragment', async () => {
    const through = (levels: number) =>
      `{ ...A } fragment A on Query { ... on Query { group(group: {id: "club"}) { ...B } } } fragment B on Group { ${nested(levels)} }`;
    expect((await sendRequest(through(12))).status).toBe(200);
    expect(refusalOf(await sendRequest(through(13)))).toEqual(TOO_COMPLEX);
  });
});

describe('the aliases of an operation', () => {
  it('are at most 30 on all levels together', async () => {
    const aliased = (count: number) =>
      `{ group(group: {id: "club"}) { ${repeat(count, (at) => `a${at}: id`)} } }`;
    expect((await sendRequest(aliased(30))).status).toBe(200);
    expect(refusalOf(await sendRequest(aliased(31)))).toEqual(TOO_COMPLEX);
    const names = (count: number) => `{ ${repeat(count, (at) => `a${at}: __typename`)} }`;
    expect((await sendRequest(names(30))).status).toBe(200);
    expect(refusalOf(await sendRequest(names(31)))).toEqual(TOO_COMPLEX);
  });
});

describe('the root fields of an operation', () => {
  it('are at most 20', async () => {
    const roots = (count: number) => `{ ${repeat(count, (at) => `a${at}: buildInfo { version }`)} }`;
    expect(Object.keys(dataOf(await sendRequest(roots(20))) ?? {})).toHaveLength(20);
    expect(refusalOf(await sendRequest(roots(21)))).toEqual(TOO_COMPLEX);
  });
});

describe('the tokens of a document', () => {
  it('are at most 1,000', async () => {
    // Two braces and a field; three tokens for each fragment around it.
    const tokens = (fields: number) =>
      `{ ${'... { '.repeat(332)}${'__typename '.repeat(fields)}${'}'.repeat(332)} }`;
    expect(dataOf(await sendRequest(tokens(2)))).toEqual({ __typename: 'Query' });
    expect(refusalOf(await sendRequest(tokens(3)))).toEqual(TOO_COMPLEX);
  });
});

describe('the requested nodes of an operation', () => {
  const members = (first: number, inside: string) =>
    `{ group(group: {id: "club"}) { members(first: ${first}) { nodes { user { ${inside} } } } } }`;
  const priceOf = async (query: string, variables?: Record<string, unknown>) => {
    const asked = print(parse(query)).replace('{', '{ rateLimit(dryRun: true) { nodeCount cost }');
    return dataOf(await sendRequest(asked, variables));
  };

  it('are at most 20,000, multiplied for nested connections', async () => {
    // 100 members with 100 groups each are 100 + 10,000; with those elsewhere, 20,000.
    const exactly = `{ group(group: {id: "club"}) { members(first: 100) { nodes { user { groups(first: 100) { totalCount } } } } }
      groups(first: 99) { nodes { members(first: 99) { totalCount } } } }`;
    expect((await sendRequest(exactly)).status).toBe(200);
    const more = exactly.replace('members(first: 99)', 'members(last: 100)');
    expect(refusalOf(await sendRequest(more))).toEqual(TOO_COMPLEX);
  });

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

describe('the values of a response', () => {
  it('are at most 25 for each node that is allowed, and aliases multiply them', async () => {
    const aliased = (selection: string) =>
      `{ groups(first: 100) { nodes { members(first: 99) { nodes { ${selection} } } } } }`;
    const names = `user { ${repeat(30, (at) => `a${at}: name`)} }`;
    expect((await sendRequest(aliased(names))).status).toBe(200);
    const users = repeat(30, (at) => `a${at}: user { id name }`);
    expect(refusalOf(await sendRequest(aliased(users)))).toEqual(TOO_COMPLEX);
  });
});

describe('an operation that is too complex', () => {
  const page = (inside: string) => `groups(first: 100) { nodes { ${inside} } }`;
  const members = (alias: string, inside = 'totalCount') => `${alias}members(first: 100) { ${inside} }`;
  const cases = [
    [
      'nodes',
      `{ ${page(`subgroups(first: 1) { nodes { id } } ${members('')} ${members('all: ')}`)} }`,
      'This operation has 20200 requested nodes: at most 20000 are allowed. Most are in groups.nodes.members: 10000',
    ],
    [
      'nodes under aliases and in fragments',
      `{ ...A } fragment A on Query { clubs: ${page(`...B`)} } fragment B on Group { few: members(first: 99) { totalCount } ${members('all: ', 'nodes { user { groups(first: 2) { totalCount } } }')} }`,
      'This operation has 40000 requested nodes: at most 20000 are allowed. Most are in clubs.nodes.all.nodes.user.groups: 20000',
    ],
    [
      'nodes on an edge, beyond what an integer of GraphQL can have',
      `{ ${page(page(page('ID').replace('groups', 'parents')).replace('groups', 'subgroups')).replace('ID', page(page('id').replace('groups', 'parents')).replace('groups', 'subgroups'))} }`,
      'This operation has 2147483647 requested nodes: at most 20000 are allowed. Most are in groups.nodes.subgroups.nodes.parents.nodes.subgroups.nodes.parents: 2147483647',
    ],
    [
      'values',
      `{ ${page(members('', `nodes { ${repeat(30, (at) => `a${at}: user { id name }`)} }`))} }`,
      'This operation has 920200 values in its response: at most 500000 are allowed. Most are in groups.nodes.members: 920000',
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

describe('first and last', () => {
  it.each([
    ['neither is given', ''],
    ['both are given', '(first: 1, last: 1)'],
    ['the only one is null', '(first: null)'],
    ['both are null', '(first: null, last: null)'],
    ['it is negative', '(first: -1)'],
    ['it is above 100', '(last: 101)'],
    ['it is a text', '(first: "1")'],
    ['it is not a whole number', '(first: 1.5)'],
    ['it is beyond 32 bits', '(first: 4294967297)'],
    ['both are given, one by a variable', '(first: 1, last: 1, after: $a)'],
  ])('are rejected by validation of the document if %s', async (_when, args) => {
    const variable = args.includes('$a') ? 'query ($a: String) ' : '';
    expect(refusalOf(await sendRequest(`${variable}{ groups${args} { totalCount } }`))).toEqual(INVALID);
  });

  it.each([
    ['neither is given', {}],
    ['both are given', { first: 1, last: 1 }],
    ['the only one is null', { first: null }],
    ['it is negative', { first: -1 }],
    ['it is above 100', { last: 101 }],
    ['it is a text', { first: '1' }],
    ['it is not a whole number', { last: 1.5 }],
    ['it is beyond 32 bits', { first: 4294967297 }],
  ])('are rejected with variables if %s', async (_when, variables) => {
    const query = 'query ($first: Int, $last: Int) { groups(first: $first, last: $last) { totalCount } }';
    expect(refusalOf(await sendRequest(query, variables))).toEqual(BAD_INPUT);
  });

  it('may be 0 to 100', async () => {
    for (const args of [
      'first: 0',
      'last: 0',
      'first: 1',
      'first: 100',
      'last: 100',
      'first: 1, last: null',
    ]) {
      expect(dataOf(await sendRequest(`{ groups(${args}) { totalCount } }`))).toEqual({
        groups: { totalCount: 2 },
      });
    }
  });
});
