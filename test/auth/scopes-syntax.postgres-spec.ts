import { buildLdif } from '../support/builders/directory.js';
import { TestService } from '../support/servers/service.js';

/** A group, in a position where a token with `directory` can read it, but not its members. */
function inGroup(selection: string): string {
  return `users(first: 1) { nodes { groups(first: 2) { nodes { group { ${selection} } } } } }`;
}

const MEMBERS = 'members(first: 1) { totalCount }';

describe('a withheld field', () => {
  const service = TestService.forSuite({
    ldif: buildLdif(
      [{ id: 'anna', name: 'Anna' }],
      [
        { id: 'club', name: 'Club Anna', members: ['anna'] },
        { id: 'team', members: ['anna'] },
      ],
    ),
  });
  let directory: string;
  let read: string;

  beforeAll(async () => {
    directory = await service.serviceAccount('directory');
    read = await service.serviceAccount('read');
  });

  interface Outcome {
    status: number;
    data: unknown;
    errors: { code: string; path: string | undefined }[];
  }

  async function sendRequest(
    query: string,
    authorization: string | undefined = directory,
    variables?: Record<string, unknown>,
  ): Promise<Outcome> {
    const { status, data, errors } = await service.query(query, {
      ...(authorization === '' ? {} : { authorization }),
      ...(variables === undefined ? {} : { variables }),
    });
    return {
      status,
      data,
      errors: errors.map(({ extensions, path }) => ({ code: extensions.code, path: path?.join('.') })),
    };
  }

  /** The response to `inGroup`, with the same data for both groups. */
  function bothGroups(group: unknown): unknown {
    return { users: { nodes: [{ groups: { nodes: [{ group }, { group }] } }] } };
  }

  /** The errors of each selection, in both groups. */
  function withheldAt(...keys: string[]) {
    return [0, 1].flatMap((row) =>
      keys.map((key) => ({
        code: 'INSUFFICIENT_SCOPE',
        path: `users.nodes.0.groups.nodes.${row}.group.${key}`,
      })),
    );
  }

  it.each<[string, string, string[]?]>([
    ['two aliases', `{ ${inGroup(`a: ${MEMBERS} b: ${MEMBERS}`)} }`, ['a', 'b']],
    ['the name of another field', `{ ${inGroup(`id: ${MEMBERS}`)} }`, ['id']],
    ['a named fragment', `{ ${inGroup('...G')} } fragment G on Group { ${MEMBERS} }`],
    ['an inline fragment', `{ ${inGroup(`... on Group { ${MEMBERS} }`)} }`],
    ['a fragment on the root', `{ ...R } fragment R on Query { ${inGroup(MEMBERS)} }`],
    ['a repeated field', `{ ${inGroup(`${MEMBERS} members(first: 1) { nodes { user { id } } }`)} }`],
    [
      'a page size by a variable',
      `query ($yes: Boolean!, $size: Int = 1) { ${inGroup(`members(first: $size) @include(if: $yes) { totalCount }`)} }`,
    ],
    [
      'one of several operations',
      `query A($yes: Boolean!) { ${inGroup(`members(first: 1) @include(if: $yes) { totalCount }`)} }`,
    ],
  ])('has an error for each place and no data through %s', async (_case, query, keys = ['members']) => {
    expect(await sendRequest(query, directory, { yes: true })).toEqual({
      status: 200,
      data: bothGroups(Object.fromEntries(keys.map((key) => [key, null]))),
      errors: withheldAt(...keys),
    });
  });

  it.each([
    ['@skip', 'query ($yes: Boolean!)', 'members(first: 1) @skip(if: $yes) { totalCount }'],
    ['both', 'query ($yes: Boolean!)', 'members(first: 1) @include(if: $yes) @skip(if: $yes) { totalCount }'],
    ['a default', 'query ($none: Boolean = false)', 'members(first: 1) @include(if: $none) { totalCount }'],
    ['its fragment', 'query ($no: Boolean!)', `... on Group @include(if: $no) { ${MEMBERS} }`],
    ['the parent of its fragment', 'query', `... @skip(if: true) { ... on Group { ${MEMBERS} } }`],
  ])('has no error if %s omits it', async (_case, operation, selection) => {
    expect(
      await sendRequest(`${operation} { ${inGroup(`__typename ${selection}`)} }`, directory, {
        yes: true,
        no: false,
      }),
    ).toEqual({ status: 200, data: bothGroups({ __typename: 'Group' }), errors: [] });
  });

  it('has an error if it is omitted in one place and selected in another', async () => {
    const selection = `members(first: 1) @skip(if: true) { totalCount } ...G`;
    expect(await sendRequest(`{ ${inGroup(selection)} } fragment G on Group { ${MEMBERS} }`)).toMatchObject({
      errors: withheldAt('members'),
    });
  });

  it('has an error for each place that spreads a fragment', async () => {
    const { errors } = await sendRequest(
      `{ a: ${inGroup('...G')} b: ${inGroup('...G')} } fragment G on Group { ${MEMBERS} }`,
    );
    expect(errors.map(({ path }) => path)).toEqual([
      'a.nodes.0.groups.nodes.0.group.members',
      'a.nodes.0.groups.nodes.1.group.members',
      'b.nodes.0.groups.nodes.0.group.members',
      'b.nodes.0.groups.nodes.1.group.members',
    ]);
  });

  it('does not execute its selections', async () => {
    expect(
      await sendRequest(`{ ${inGroup('members(first: 1, after: "no cursor") { totalCount }')} }`),
    ).toMatchObject({ errors: withheldAt('members') });
  });

  it('at the root is null beside readable fields, and beside fields that need no token', async () => {
    const query =
      '{ group(group: {id: "club"}) { id } users(first: 1) { totalCount } directoryStatus { state } }';
    expect(await sendRequest(query)).toEqual({
      status: 200,
      data: { group: null, users: { totalCount: 1 }, directoryStatus: { state: 'IDLE' } },
      errors: [{ code: 'INSUFFICIENT_SCOPE', path: 'group' }],
    });
  });

  it('at the root does not disclose whether an object exists', async () => {
    const [known, unknown] = await Promise.all(
      ['club', 'nothing'].map((id) =>
        sendRequest(`{ group(group: {id: "${id}"}) { id } buildInfo { __typename } }`),
      ),
    );
    expect(known).toEqual(unknown);
  });

  it.each([
    ['the only field is', '{ group(group: {id: "club"}) { __typename } }'],
    [
      'all aliases of it are',
      '{ a: group(group: {id: "club"}) { id } b: group(group: {id: "team"}) { id } }',
    ],
    ['the other field is __typename', '{ __typename group(group: {id: "club"}) { id } }'],
    [
      'the other field is omitted',
      '{ users(first: 1) @skip(if: true) { totalCount } group(group: {id: "club"}) { id } }',
    ],
    ['it comes from a fragment', '{ ...R } fragment R on Query { group(group: {id: "club"}) { id } }'],
  ])('at the root causes the request to be rejected if %s', async (_case, query) => {
    const { status, data, errors } = await sendRequest(query);
    expect({ status, data, errors }).toEqual({
      status: 403,
      data: undefined,
      errors: [{ code: 'INSUFFICIENT_SCOPE', path: undefined }],
    });
  });

  it('can be read through a union only by a token with its scope', async () => {
    const query = `{ buildInfo { __typename } search(query: "anna", first: 5) { nodes {
      __typename ... on Group { ${MEMBERS} } ... on User { id } } } }`;
    const reached = await sendRequest(query, read);
    expect(reached.errors).toEqual([]);
    expect(reached.data).toMatchObject({
      search: {
        nodes: [
          { __typename: 'User', id: 'anna' },
          { __typename: 'Group', members: { totalCount: 1 } },
        ],
      },
    });
    expect(await sendRequest(query)).toEqual({
      status: 200,
      data: { buildInfo: { __typename: 'BuildInfo' }, search: null },
      errors: [{ code: 'INSUFFICIENT_SCOPE', path: 'search' }],
    });
  });

  it.each([
    ['__typename', '{ __typename }'],
    ['introspection', '{ __schema { queryType { name } } __type(name: "Group") { fields { name } } }'],
    ['public fields', '{ directoryStatus { state } rateLimit { cost } buildInfo { version } }'],
    ['an omitted field', '{ __typename users(first: 1) @include(if: false) { totalCount } }'],
  ])('does not include %s, which needs no token', async (_case, query) =>
    expect(await sendRequest(query, '')).toMatchObject({ status: 200, errors: [] }),
  );

  it.each([
    ['beside a public one', '{ buildInfo { version } users(first: 1) { totalCount } }'],
    [
      'by a variable',
      'query ($yes: Boolean = true) { __typename users(first: 1) @include(if: $yes) { totalCount } }',
    ],
    ['by a fragment', '{ ...R } fragment R on Query { currentToken { kind } }'],
  ])('with %s needs a token', async (_case, query) => {
    expect(await sendRequest(query, '')).toEqual({
      status: 401,
      data: undefined,
      errors: [{ code: 'UNAUTHENTICATED', path: undefined }],
    });
  });
});
