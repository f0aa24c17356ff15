import { buildLdif } from '../support/builders/directory.js';
import { Executions } from '../support/builders/executions.js';
import {
  dataOf,
  type HttpAnswer,
  type HttpRequest,
  refusalOf,
  send,
  sendBytes,
} from '../support/clients/http.js';
import { TestService } from '../support/servers/service.js';
import { statementsOf } from '../support/builders/statements.js';
import { repeat } from '../support/builders/hostile-documents.js';

type Refusal = readonly [status: number, code: string];

/** A limit, and the kinds of requests that can reach it. */
interface LimitCase {
  readonly what: string;
  /** The largest value that is accepted. */
  readonly limit: number;
  readonly refusal: Refusal;
  /** Builds a request with this value, which is valid otherwise. */
  readonly ways: Readonly<Record<string, (count: number) => HttpRequest>>;
  /** The expected error if it differs from the usual one. */
  readonly refusals?: Readonly<Record<string, Refusal>>;
}

const TOO_COMPLEX: Refusal = [400, 'QUERY_TOO_COMPLEX'];
const TOO_LARGE = 'PAYLOAD_TOO_LARGE';
const JSON_HEADERS = { 'content-type': 'application/json' };

function operation(query: string, variables: Record<string, unknown> = {}): HttpRequest {
  return { method: 'POST', headers: JSON_HEADERS, body: JSON.stringify({ query, variables }) };
}

/** A group with its deepest field on this level. */
function levels(count: number): string {
  const steps = Array.from({ length: count - 2 }, (_, at) =>
    at % 2 === 0 ? 'subgroups(first: 1)' : 'nodes',
  );
  const innermost = steps.length % 2 === 0 ? 'id' : 'totalCount';
  return `${steps.map((step) => `${step} { `).join('')}${innermost}${' }'.repeat(steps.length)}`;
}

const CLUB = 'group(group: {id: "club"})';
const aliases = (count: number) => repeat(count, (at) => `a${at}: __typename`);

/** A document of this many tokens: three per fragment, and a remainder. */
function tokens(count: number): string {
  const fragments = Math.floor((count - 1) / 3);
  return `${'... { '.repeat(fragments)}${repeat(count - 3 * fragments, '__typename')}${' }'.repeat(fragments)}`;
}

/** With these page sizes: 19,800 nodes, 198 around them, and one for each of the last page. */
const nodes = (count: number, inner = '100', more = String(count - 19_998)) =>
  `${CLUB} { ${repeat(2, (at) => `a${at}: members(first: 99) { nodes { user { groups(first: ${inner}) { totalCount } } } }`)} } groups(first: ${more}) { totalCount }`;

/** A list below each of 9,800 memberships, with a text. */
const belowEach = (text: string) =>
  `groups(first: 100) { nodes { members(first: 98) { nodes { group { members(first: 0, filter: {schoolYear: ${text}}) { totalCount } } } } } }`;

/** A request target of this many bytes. */
const url = (count: number, query: string) => `/graphql/v1?query=${query}&x=`.padEnd(count, 'x');

const body = (count: number, filling: string): Buffer => {
  const [start, end] = ['{"query":"{__typename}","x":"', '"}'];
  const room = count - start.length - end.length;
  const size = Buffer.byteLength(filling);
  return Buffer.from(`${start}${filling.repeat(Math.floor(room / size))}${'x'.repeat(room % size)}${end}`);
};

const LIMIT_CASES: readonly LimitCase[] = [
  {
    what: 'levels',
    limit: 12,
    refusal: TOO_COMPLEX,
    ways: {
      directly: (count) => operation(`{ ${CLUB} { ${levels(count)} } }`),
      'through fragments': (count) =>
        operation(`{ ... { ...A } } fragment A on Query { ${CLUB} { ... on Group { ${levels(count)} } } }`),
      'by a variable': (count) =>
        operation(`query ($yes: Boolean!) { ${CLUB} { id ... @include(if: $yes) { ${levels(count)} } } }`, {
          yes: true,
        }),
    },
  },
  {
    what: 'aliases',
    limit: 30,
    refusal: TOO_COMPLEX,
    ways: {
      directly: (count) => operation(`{ ${aliases(count)} }`),
      'through fragments': (count) =>
        operation(`{ ...A ${aliases(count - 10)} } fragment A on Query { ... { ${aliases(10)} } }`),
      'on objects of a union': (count) =>
        operation(`{ search(query: "cl", first: 1) { nodes { ... on Group { ${aliases(count)} } } } }`),
    },
  },
  {
    what: 'tokens',
    limit: 1000,
    refusal: TOO_COMPLEX,
    ways: {
      directly: (count) => operation(`{ ${tokens(count - 2)} }`),
      'through fragments': (count) => operation(`{ ...A } fragment A on Query { ${tokens(count - 10)} }`),
    },
  },
  {
    what: 'requested nodes',
    limit: 20_000,
    refusal: TOO_COMPLEX,
    ways: {
      directly: (count) => operation(`{ ${nodes(count)} }`),
      'through fragments': (count) =>
        operation(`{ ...A ...A } fragment A on Query { ... { ${nodes(count)} } }`),
      'by variables': (count) =>
        operation(`query ($inner: Int = 100, $more: Int!) { ${nodes(count, '$inner', '$more')} }`, {
          more: count - 19_998,
        }),
    },
  },
  {
    what: 'nodes of a page',
    limit: 100,
    refusal: [400, 'GRAPHQL_VALIDATION_FAILED'],
    refusals: { 'by a variable': [400, 'BAD_USER_INPUT'], 'by a default': [400, 'BAD_USER_INPUT'] },
    ways: {
      directly: (count) => operation(`{ groups(first: ${count}) { totalCount } }`),
      'by a variable': (count) =>
        operation('query ($n: Int) { groups(first: $n) { totalCount } }', { n: count }),
      'by a default': (count) => operation(`query ($n: Int = ${count}) { groups(last: $n) { totalCount } }`),
    },
  },
  {
    what: 'characters of an argument below 9,800 objects',
    limit: 4646,
    refusal: TOO_COMPLEX,
    ways: {
      directly: (count) => operation(`{ ${belowEach(`"${'x'.repeat(count)}"`)} }`),
      'by a variable': (count) =>
        operation(`query ($text: String) { ${belowEach('$text')} }`, { text: 'x'.repeat(count) }),
    },
  },
  {
    what: 'bytes of a body',
    limit: 100_000,
    refusal: [413, TOO_LARGE],
    ways: {
      directly: (count) => ({ method: 'POST', headers: JSON_HEADERS, body: body(count, 'x') }),
      'in letters of several bytes': (count) => ({
        method: 'POST',
        headers: JSON_HEADERS,
        body: body(count, '🎓'),
      }),
      'without its length': (count) => ({
        method: 'POST',
        headers: { ...JSON_HEADERS, 'transfer-encoding': 'chunked' },
        body: body(count, 'x'),
      }),
    },
  },
  {
    what: 'bytes of a URL',
    limit: 8192,
    refusal: [414, TOO_LARGE],
    ways: {
      directly: (count) => ({ path: url(count, '{__typename}') }),
      'by POST': (count) => ({ ...operation('{ __typename }'), path: url(count, '') }),
    },
  },
];

/** What the most nodes of an operation cost. */
const POINTS = 200;
const HALF = 'groups(first: 100) { nodes { members(first: 99) { totalCount } } }';
const ALL = `{ a: ${HALF} b: ${HALF} }`;

const service = TestService.forSuite({
  ldif: buildLdif([{ id: 'anna' }], [{ id: 'club', members: ['anna'] }]),
  environment: { LIMIT_POINTS_PER_HOUR: String(POINTS) },
  compared: false,
});
let executions: Executions;

beforeAll(() => {
  executions = new Executions(service.app);
});

/** From an address without earlier requests. */
async function sendRequest(request: HttpRequest, authorization?: string): Promise<HttpAnswer> {
  const headers = {
    ...request.headers,
    authorization: authorization ?? (await service.serviceAccount('read')),
  };
  return send(service, { ...request, headers });
}

/** Rejections happen before execution, and before anything is read. */
async function refusalBeforeAll(work: () => Promise<HttpAnswer>): Promise<[status: number, code: string]> {
  const before = executions.count;
  const answers: HttpAnswer[] = [];
  const statements = await statementsOf(async () => answers.push(await work()));
  expect([statements, executions.count - before]).toEqual([[], 0]);
  const [answer] = answers;
  if (answer === undefined) throw new Error('There is no answer');
  return refusalOf(answer);
}

describe.each(LIMIT_CASES)('$limit $what', ({ limit, refusal, refusals, ways }) => {
  it.each(Object.entries(ways))(
    'are accepted, and one more is rejected before anything is read: %s',
    async (way, build) => {
      dataOf(await sendRequest(build(limit)));
      expect(await refusalBeforeAll(() => sendRequest(build(limit + 1)))).toEqual(refusals?.[way] ?? refusal);
    },
  );
});

describe(`${POINTS} points`, () => {
  it.each([
    ['directly', operation(ALL)],
    ['by variables', operation(ALL.replace('{', 'query ($n: Int!) {').replace('100', '$n'), { n: 100 })],
  ])('are accepted, and one more is rejected before anything is read: %s', async (_way, request) => {
    dataOf(await sendRequest(request));
    const authorization = await service.serviceAccount('read');
    dataOf(await sendRequest(operation('{ __typename }'), authorization));
    expect(await refusalBeforeAll(() => sendRequest(request, authorization))).toEqual([429, 'RATE_LIMITED']);
  });
});

describe('24,576 bytes of headers', () => {
  it('are accepted, with the URL, and no more', async () => {
    const send = (bytes: number) =>
      sendBytes(
        service,
        `GET /graphql/v1?query={__typename} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nY: ${'y'.repeat(bytes)}\r\n\r\n`,
      );
    dataOf(await send(24_400));
    expect(await send(24_600)).toMatchObject({ status: 431, body: '' });
  });
});

describe('an omitted list', () => {
  const leftOut = [
    '... @include(if: false) { groups(first: $n) { nodes { group { id } } } }',
    'groups(first: $n) @skip(if: true) { nodes { group { id } } }',
    '...A @include(if: $no)',
  ];
  const FRAGMENT = 'fragment A on User { groups(first: $n) { nodes { group { id } } } }';

  it.each(leftOut)('is not counted, for any page size: %s', async (inside) => {
    const query = `query ($n: Int, $no: Boolean = false) { user(user: {id: "anna"}) { id ${inside} x: name @include(if: $no) } } ${inside.includes('...A') ? FRAGMENT : ''}`;
    const authorization = await service.serviceAccount('read');
    for (const n of [-1, 101, 2_147_483_647, null, 1]) {
      const answers: HttpAnswer[] = [];
      const statements = await statementsOf(async () =>
        answers.push(await sendRequest(operation(query, { n }), authorization)),
      );
      expect(answers.map(dataOf)).toEqual([{ user: { id: 'anna' } }]);
      for (const { text } of statements) expect(text).not.toContain('effective_memberships');
    }
  });
});
