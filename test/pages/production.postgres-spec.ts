import { request as startRequest } from 'node:http';
import { text } from 'node:stream/consumers';
import { getIntrospectionQuery } from 'graphql';
import { buildLdif } from '../support/builders/directory.js';
import { dataOf, type HttpAnswer, post, refusalOf, send } from '../support/clients/http.js';
import { TestNginx } from '../support/servers/balancers.js';
import { TestProxy } from '../support/servers/proxy.js';
import { TestService } from '../support/servers/service.js';
import { createDatabase, type TestDatabase } from '../support/servers/store.js';

const ORIGIN = 'https://pages.example.org';
const CHEAP = '{ buildInfo { version } }';
/** Each contains a misspelled name of the schema, for which graphql-js suggests the right one. */
const MISSPELT: [query: string, variables?: Record<string, unknown>][] = [
  ['{ buildInf { version } }'],
  ['{ groups(firs: 1) { totalCount } }'],
  ['{ groups(first: 1, orderBy: {field: NAM, direction: ASC}) { totalCount } }'],
  [
    'query ($order: GroupOrder) { groups(first: 1, orderBy: $order) { totalCount } }',
    { order: { field: 'NAM' } },
  ],
  [
    'query ($order: GroupOrder) { groups(first: 1, orderBy: $order) { totalCount } }',
    { order: { feld: 'NAME' } },
  ],
];

let database: TestDatabase;
/** Between the service and its database. */
let proxy: TestProxy;
let service: TestService;
let authorization: string;

beforeAll(async () => {
  database = await createDatabase();
  const url = new URL(database.url);
  proxy = await TestProxy.start({ host: url.hostname, port: Number(url.port) });
  url.port = String(proxy.port);
  service = await TestService.start({
    ldif: buildLdif([{ id: 'anna' }]),
    environment: {
      DATABASE_URL: url.href,
      NODE_ENV: 'production',
      ALLOW_EMBEDDED: 'true',
      CORS_ORIGINS: ORIGIN,
      TRUSTED_PROXIES: '127.0.0.1',
      LIMIT_REQUESTS_PER_MINUTE: '50',
    },
  });
  authorization = await service.accessToken('read');
});

afterAll(async () => {
  await service.stop();
  await proxy.stop();
  await database.drop();
});

describe('a service in production', () => {
  it('rejects introspection, and suggests no names of the schema', async () => {
    const introspection = await post(service, { query: getIntrospectionQuery() }, { authorization });
    expect(refusalOf(introspection)).toEqual([400, 'GRAPHQL_VALIDATION_FAILED']);
    expect(dataOf(await post(service, { query: '{ __typename }' }))).toEqual({ __typename: 'Query' });
    for (const [query, variables] of MISSPELT) {
      const refused = await post(service, { query, variables }, { authorization });
      expect([query, refusalOf(refused)[0]]).toEqual([query, 400]);
      expect(refused.body).not.toContain('Did you mean');
    }
  });

  it('sends no internals in the response to a failure', async () => {
    proxy.cut();
    const failed = await post(service, { query: '{ user(user: {id: "anna"}) { id } }' }, { authorization });
    const page = await send(service, { path: '/' });
    proxy.restore();
    expect([page.status, page.body]).toEqual([200, expect.stringContaining('The database is unavailable')]);
    expect(failed.status).toBe(503);
    expect(failed.body).not.toMatch(/stack|node_modules|\.(js|ts):\d|ECONN|127\.0\.0\.1/);
    await service.until(async () => (await send(service, { path: '/_readiness' })).status === 200);
  });
});

describe('the headers of every response', () => {
  const sendRequest = (path: string, more: Parameters<typeof send>[1] = {}) =>
    send(service, { path, ...more });

  it('restrict what browsers do with the response', async () => {
    const answers: HttpAnswer[] = [
      await post(service, { query: CHEAP }),
      await post(service, '{'),
      await post(service, { query: CHEAP }, { authorization: 'Bearer x' }),
      await sendRequest('/graphql/v1', { method: 'PUT' }),
      await sendRequest('/nothing'),
      await sendRequest('/_health'),
      await sendRequest('/_readiness'),
    ];
    expect(answers.map(({ status }) => status)).toEqual([200, 400, 401, 405, 404, 200, 200]);
    for (const { headers } of answers) {
      expect(headers).toMatchObject({
        'content-security-policy':
          "default-src 'none';base-uri 'none';form-action 'none';frame-ancestors 'none'",
        'cross-origin-resource-policy': 'same-origin',
        'referrer-policy': 'no-referrer',
        'x-content-type-options': 'nosniff',
        'x-frame-options': 'DENY',
      });
      expect(headers).not.toHaveProperty('x-powered-by');
    }
  });
});

describe('behind a real nginx', () => {
  let nginx: TestNginx;

  beforeAll(async () => {
    nginx = await TestNginx.start(service.config.port);
  });

  afterAll(() => nginx.stop());

  /** Sends a request from an address of the loopback interface, through the proxy or directly. */
  function sendRequest(port: number, localAddress: string, forwarded?: string): Promise<number> {
    return new Promise((resolve, reject) => {
      const headers = forwarded === undefined ? {} : { 'x-forwarded-for': forwarded };
      const path = `/graphql/v1?${new URLSearchParams({ query: CHEAP }).toString()}`;
      const request = startRequest({ host: '127.0.0.1', port, path, localAddress, headers, agent: false });
      request.on('error', reject).on('response', (response) => {
        text(response).then(() => resolve(response.statusCode ?? 0), reject);
      });
      request.end();
    });
  }

  it('a forged X-Forwarded-For does not circumvent a limit', async () => {
    const forged = [
      (index: number) => `198.51.100.${index}`,
      (index: number) => `127.0.0.1, 198.51.100.${index}, 127.0.0.1`,
      (index: number) => `"; drop ${index}, ,unknown`,
      () => undefined,
    ];
    const statuses: number[] = [];
    for (let index = 0; index < 51; index++) {
      statuses.push(await sendRequest(nginx.port, '127.0.0.2', forged[index % 4]?.(index)));
    }
    expect(statuses).toEqual([...Array.from({ length: 50 }, () => 200), 429]);
    // Requests of other addresses were not counted.
    expect(await sendRequest(nginx.port, '127.0.0.3')).toBe(200);
  });

  it('a request that bypasses the proxy does not circumvent a limit', async () => {
    const statuses: number[] = [];
    for (let index = 0; index < 51; index++) {
      statuses.push(await sendRequest(service.config.port, '127.0.0.4', `198.51.100.${index}`));
    }
    expect(statuses).toEqual([...Array.from({ length: 50 }, () => 200), 429]);
  });
});
