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
import { LIMIT_CASES, operation } from '../support/builders/limit-cases.js';
import { TestService } from '../support/servers/service.js';
import { statementsOf } from '../support/builders/statements.js';

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
    ['through fragments', operation(`{ ...A ...A } fragment A on Query ${ALL}`)],
    ['by variables', operation(ALL.replace('{', 'query ($n: Int!) {').replace('100', '$n'), { n: 100 })],
  ])('are accepted, and one more is rejected before anything is read: %s', async (_way, request) => {
    dataOf(await sendRequest(request));
    const authorization = await service.serviceAccount('read');
    dataOf(await sendRequest(operation('{ __typename }'), authorization));
    expect(await refusalBeforeAll(() => sendRequest(request, authorization))).toEqual([429, 'RATE_LIMITED']);
  });
});

describe('16,384 bytes of headers', () => {
  /** Fields of one byte each; the last one fills up to this many bytes together with the required ones. */
  async function request(bytes: number, fields: number): Promise<string> {
    const authorization = await service.serviceAccount('read');
    const head = `Host: x\r\nConnection: close\r\nAuthorization: ${authorization}\r\n${'X: x\r\n'.repeat(fields - 1)}`;
    const last = 'Y: \r\n';
    const filling = 'y'.repeat(bytes - head.length - last.length);
    return `GET /graphql/v1?query={__typename} HTTP/1.1\r\n${head}Y: ${filling}\r\n\r\n`;
  }

  it.each([
    ['in one field', 1],
    ['in 2,500 fields', 2500],
  ])('are accepted, and one more is rejected before anything is read: %s', async (_way, fields) => {
    dataOf(await sendBytes(service, await request(16_384, fields)));
    const refused = await request(16_385, fields);
    expect(await refusalBeforeAll(() => sendBytes(service, refused))).toEqual([431, 'PAYLOAD_TOO_LARGE']);
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
