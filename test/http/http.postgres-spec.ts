import { serverAudits } from 'graphql-http';
import { buildLdif } from '../support/builders/directory.js';
import { challengeOf, get, type HttpAnswer, post, refusalOf, send } from '../support/clients/http.js';
import { TestService } from '../support/servers/service.js';

const QUERY = '{ buildInfo { __typename } }';
const OF_READ = '{ user(user: {id: "anna"}) { id } }';
const ORIGIN = 'https://pages.example';
/** Its response is compressed. */
const MANY = `{ ${Array.from({ length: 20 }, (_, index) => `u${index}: user(user: {id: "anna"}) { id nodeId }`).join(' ')} }`;

const service = TestService.forSuite({
  ldif: buildLdif([{ id: 'anna' }]),
  environment: { CORS_ORIGINS: `${ORIGIN},https://other.example` },
});
let authorization: string;

beforeAll(async () => {
  authorization = await service.serviceAccount('read');
});

describe('the status of a response', () => {
  it('is 200 with data, also if a field has an error', async () => {
    const answer = await post(service, { query: '{ user(user: {id: "nobody"}) { id } }' }, { authorization });
    expect(answer.status).toBe(200);
    const { data, errors } = JSON.parse(answer.body) as { data: unknown; errors: [{ extensions: object }] };
    expect(data).toEqual({ user: null });
    expect(errors[0].extensions).toMatchObject({
      code: 'NOT_FOUND',
      requestId: answer.headers['x-request-id'],
    });
  });

  it.each([
    ['does not parse', { query: '{' }, 'GRAPHQL_PARSE_FAILED'],
    ['does not validate', { query: '{ nothing }' }, 'GRAPHQL_VALIDATION_FAILED'],
    ['has no operation', { query: 'fragment F on Query { __typename }' }, 'GRAPHQL_VALIDATION_FAILED'],
    [
      'has two operations and no name',
      { query: 'query a { __typename } query b { __typename }' },
      'OPERATION_RESOLUTION_FAILURE',
    ],
    [
      'has no operation of this name',
      { query: 'query a { __typename }', operationName: 'b' },
      'OPERATION_RESOLUTION_FAILURE',
    ],
    ['lacks a variable', { query: 'query ($x: Boolean!) { __typename @skip(if: $x) }' }, 'BAD_USER_INPUT'],
    [
      'has a variable of another type',
      {
        query: 'query ($x: UserInput!) { user(user: $x) { id } }',
        variables: { x: { id: 1, unknown: true } },
      },
      'BAD_USER_INPUT',
    ],
    [
      'has null for a directive',
      {
        query: 'query ($x: Boolean = true) { __typename buildInfo @skip(if: $x) { version } }',
        variables: { x: null },
      },
      'BAD_USER_INPUT',
    ],
    [
      'has null where only the default fits',
      {
        query:
          'query ($x: GroupRole = ADMIN) { groups(first: 1, filter: {role: {is: $x}, hasMember: {id: "anna"}}) { totalCount } }',
        variables: { x: null },
      },
      'BAD_USER_INPUT',
    ],
    ['has an unknown mutation', { query: 'mutation { nothing }' }, 'GRAPHQL_VALIDATION_FAILED'],
    ['subscribes', { query: 'subscription { changes }' }, 'GRAPHQL_VALIDATION_FAILED'],
  ])('is 400 if the document %s', async (_what, body, code) => {
    for (const accept of ['application/json', 'application/graphql-response+json']) {
      expect(refusalOf(await post(service, body, { authorization, accept }))).toEqual([400, code]);
    }
  });

  it('is 405 for other methods, with Allow', async () => {
    for (const method of ['PUT', 'DELETE', 'OPTIONS', 'PATCH', 'TRACE', 'PROPFIND']) {
      const answer = await send(service, { method });
      expect([method, ...refusalOf(answer)]).toEqual([method, 405, 'METHOD_NOT_ALLOWED']);
      expect(answer.headers.allow).toBe('GET, HEAD, POST');
    }
  });

  it.each<[what: string, status: number, query: string | null, headers?: Record<string, string>]>([
    ['data', 200, OF_READ],
    ['compressed data', 200, MANY, { 'accept-encoding': 'gzip' }],
    ['a field with an error', 200, '{ user(user: {id: "nobody"}) { id } }'],
    ['no query', 400, null],
    ['a syntax error', 400, '{'],
    ['a token that is missing', 401, OF_READ, { authorization: '' }],
    ['a scope that is missing', 403, '{ users(first: 1) { totalCount } }'],
    ['a mutation', 405, 'mutation { __typename }'],
    ['another media type', 406, OF_READ, { accept: 'text/plain' }],
    ['a browser', 406, null, { accept: 'text/html' }],
  ])('and the headers are the same for HEAD as for GET, without the body: %s', async (...row) => {
    const [, status, query, more = {}] = row;
    const path = `/graphql/v1${query === null ? '' : `?query=${encodeURIComponent(query)}`}`;
    const headers = { authorization, origin: ORIGIN, 'x-request-id': 'same', ...more };
    const answers: HttpAnswer[] = [];
    // The third is from the response cache, as far as there is one.
    for (const method of ['GET', 'HEAD', 'HEAD', 'GET'])
      answers.push(await send(service, { method, path, headers }));
    const describe = ({ status: sent, headers: { date, ratelimit, ...others } }: HttpAnswer) => {
      const known = [date, ratelimit?.toString().replace(/r=\d+;t=\d+/g, '')].slice(1);
      return { sent, known, others };
    };
    const [first, ...rest] = answers.map(describe);
    expect(first?.sent).toBe(status);
    expect(rest).toEqual([first, first, first]);
    expect(answers.map(({ body }) => body === '')).toEqual([false, true, true, false]);
  });

  it.each([
    ['Bearer', /^Bearer realm="directory", error="invalid_request"$/],
    ['Bearer a b', /^Bearer realm="directory", error="invalid_request"$/],
    ['Digest x', /^Bearer realm="directory", error="invalid_request"$/],
    ['Bearer abc', /^Bearer realm="directory", error="invalid_token", error_description="[^"]+"$/],
    [`Basic ${Buffer.from('nobody:wrong').toString('base64')}`, /^Basic realm="directory", charset="UTF-8"$/],
  ])(
    'is 401 with a challenge for the invalid token «%s», even if none is required',
    async (token, challenge) => {
      for (const query of [OF_READ, QUERY, '{']) {
        const answer = await get(service, { query }, { authorization: token });
        expect(refusalOf(answer)).toEqual([401, 'UNAUTHENTICATED']);
        expect(challengeOf(answer.headers['www-authenticate'])).toMatch(challenge);
      }
    },
  );
});

describe('a page of another origin', () => {
  const preflight = (origin: string, names = 'authorization,content-type', path = '/graphql/v1') =>
    send(service, {
      method: 'OPTIONS',
      path,
      headers: { origin, 'access-control-request-method': 'POST', 'access-control-request-headers': names },
    });

  it('is allowed if CORS_ORIGINS contains its origin', async () => {
    const { status, headers } = await preflight(ORIGIN);
    expect(status).toBe(204);
    expect(headers).toMatchObject({
      'access-control-allow-origin': ORIGIN,
      'access-control-allow-methods': 'GET, POST',
      'access-control-allow-headers': 'authorization,content-type',
      'access-control-max-age': '600',
      vary: 'Origin, Access-Control-Request-Headers',
    });
    expect(headers).not.toHaveProperty('access-control-allow-credentials');
    for (const query of [QUERY, '{']) {
      const answer = await post(service, { query }, { origin: ORIGIN });
      expect(answer.headers['access-control-allow-origin']).toBe(ORIGIN);
      expect(answer.headers['access-control-expose-headers']).toContain('retry-after');
      expect(answer.headers.vary).toContain('Origin');
    }
    const malformed = await send(service, { path: '/graphql/v1/%zz', headers: { origin: ORIGIN } });
    expect(malformed.headers).toMatchObject({ 'access-control-allow-origin': ORIGIN, vary: 'Origin' });
  });

  it('is not allowed otherwise', async () => {
    for (const origin of ['https://pages.example.evil.example', 'http://pages.example', 'null']) {
      for (const path of ['/graphql/v1', '/changes/v1', '/photo/v1/anna', '/']) {
        const { headers } = await preflight(origin, 'traceparent', path);
        expect(Object.keys(headers).filter((name) => name.startsWith('access-control-allow'))).toEqual([]);
      }
      const answer = await post(service, { query: QUERY }, { origin });
      expect(answer.headers).not.toHaveProperty('access-control-allow-origin');
    }
  });
});

describe('the audits of graphql-http', () => {
  const audit = async (headers: Record<string, string>) => {
    const audits = serverAudits({
      url: `${service.url}/graphql/v1`,
      fetchFn: (url: string, init?: RequestInit) =>
        fetch(url, { ...init, headers: { ...(init?.headers as Record<string, string>), ...headers } }),
    });
    const results = await Promise.all(audits.map(({ fn }) => fn()));
    return results.filter(({ status }) => status !== 'ok').map(({ id, status }) => `${status} ${id}`);
  };

  it('report only three recommendations that are not followed, with a token and without', async () => {
    const warnings = ['warn 572B', 'warn 7B9B', 'warn FDE2'];
    expect((await audit({ authorization })).sort()).toEqual(warnings);
    expect((await audit({})).sort()).toEqual(warnings);
  });
});
