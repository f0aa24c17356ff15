import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { ERROR_CODES } from '../../src/common/errors.js';
import pg from 'pg';
import { LoadShedder } from '../../src/graphql/http/load-shedder.js';
import { buildLdif } from '../support/builders/directory.js';
import { TestService } from '../support/servers/service.js';
import { eventually } from '../support/eventually.js';
import { findFreePort } from '../support/servers/postgres.mjs';
import { type HttpAnswer, post, send, sendBytes } from '../support/clients/http.js';
import { WatchedService } from '../support/watched-service.js';

const QUERY = '{ __typename }';
const MOST_CONNECTIONS = 20;

let service: WatchedService;
let metricsPort: number;

beforeAll(async () => {
  metricsPort = await findFreePort();
  service = await WatchedService.start({
    environment: {
      LIMIT_REQUEST_SECONDS: '1',
      LIMIT_CONNECTIONS: String(MOST_CONNECTIONS),
      LOG_REQUESTS: 'true',
      METRICS_PORT: String(metricsPort),
    },
  });
});

afterAll(() => service.stop());

/** The log line of a request. */
async function lineOf(requestId: string): Promise<Record<string, unknown> | null> {
  const line = () => service.output.split('\n').find((each) => each.includes(requestId)) ?? null;
  await eventually(() => Promise.resolve(line() !== null), true);
  return JSON.parse(line() ?? 'null') as Record<string, unknown> | null;
}

/** Checks each rejection: headers, a code of the list, and a log line with its status. */
async function expectRefusal(
  { status, headers, body }: HttpAnswer,
  expected: [number, string],
): Promise<void> {
  const document = JSON.parse(body) as {
    code?: string;
    errors?: { extensions: { code: string; requestId: string } }[];
    requestId?: string;
  };
  const { code, requestId } = document.errors?.[0]?.extensions ?? document;
  expect([status, code]).toEqual(expected);
  expect(ERROR_CODES).toContain(code);
  expect(headers['x-content-type-options']).toBe('nosniff');
  expect(headers['cache-control']).toBe('no-store');
  expect(headers['x-request-id']).toBe(requestId);
  expect(headers['connection']).toBe('close');
  expect(await lineOf(requestId ?? '')).toMatchObject({ requestId, status });
}

const head = (path: string, fields = '') =>
  `POST ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Request-Id: slow-${path.replaceAll(/\W/g, '-')}\r\nContent-Length: 100\r\n${fields}`;

describe('bytes that are not a request', () => {
  const body = JSON.stringify({ query: QUERY });
  const fields = `Host: x\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n`;
  const request = `POST /graphql/v1 HTTP/1.1\r\n${fields}\r\n${body}`;

  it('are not taken for the response to the request before them', async () => {
    const answer = await sendBytes(service, `${request}\u0001 no request\r\n\r\n`);
    expect([answer.status, answer.headers['connection']]).toEqual([200, 'close']);
    expect(JSON.parse(answer.body)).toEqual({ data: { __typename: 'Query' } });
  });

  it('end with 400 alone', async () => {
    const { status, headers } = await sendBytes(service, '\u0001 no request\r\n\r\n');
    expect([status, headers['connection']]).toEqual([400, 'close']);
  });
});

describe('a request that does not arrive in time', () => {
  it.each([
    ['of GraphQL', `${head('/graphql/v1', 'Content-Type: application/json\r\n')}\r\n{"query":`],
    ['for a picture', `${head('/photo/v1/anna', 'Content-Type: application/json\r\n')}\r\n{`],
    [
      'of the embedded provider',
      `${head('/oauth2/token', 'Content-Type: application/x-www-form-urlencoded\r\n')}\r\ngrant_type=`,
    ],
    ['without an end of its head', 'GET /graphql/v1 HTTP/1.1\r\nHost: x\r\n'],
  ])('ends with 408: %s', async (_what, bytes) => {
    await expectRefusal(await sendBytes(service, bytes), [408, 'TIMEOUT']);
  });

  it('ends with 408, even if a byte arrives from time to time', async () => {
    const socket = connect(service.config.port, service.config.host);
    socket.on('error', () => undefined);
    socket.write(`${head('/graphql/v1', 'Content-Type: application/json\r\n')}\r\n`);
    const timer = setInterval(() => socket.write(' '), 200);
    const answer = await text(socket);
    clearInterval(timer);
    expect(answer).toMatch(/^HTTP\/1\.1 408 /);
  });

  it('is closed without a second response if it was rejected before its body', async () => {
    const bytes = `${head('/graphql/v1', 'Content-Type: text/plain\r\n')}\r\n{`;
    const socket = connect(service.config.port, service.config.host, () => socket.write(bytes));
    const answer = await text(socket);
    expect(answer.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 415']);
  });

  it('ends with 408 at the port of metrics', async () => {
    const config = { host: service.config.host, port: metricsPort };
    const { status } = await sendBytes({ config }, 'GET /metrics HTTP/1.1\r\nHost: x\r\n');
    expect(status).toBe(408);
  });

  it('does not delay other requests', async () => {
    const slow = sendBytes(service, `${head('/graphql/v1', 'Content-Type: application/json\r\n')}\r\n{`);
    expect((await post(service, { query: QUERY })).status).toBe(200);
    expect((await slow).status).toBe(408);
  });
});

describe('a request whose operation waits while the rest does not arrive in time', () => {
  const impatient = TestService.forSuite({
    ldif: buildLdif([{ id: 'anna' }]),
    environment: { LIMIT_REQUEST_SECONDS: '1' },
    compared: false,
  });
  let locking: pg.Client;
  let authorization: string;

  beforeAll(async () => {
    authorization = await impatient.accessToken('read');
    // From now on the token is cached.
    await impatient.read('{ user(user: {id: "anna"}) { id } }', { authorization });
  });

  beforeEach(async () => {
    const { database } = impatient.config;
    locking = new pg.Client(database.url);
    await locking.connect();
    await locking.query('begin; lock table users');
  });

  afterEach(() => locking.end());

  const fields = () =>
    `Host: ${impatient.config.host}:${impatient.config.port}\r\nAuthorization: ${authorization}`;

  function write(bytes: string): Promise<string> {
    const socket = connect(impatient.config.port, impatient.config.host, () => socket.write(bytes));
    return text(socket);
  }

  it('is under way no longer after 408 and the end of its operation', async () => {
    const query = encodeURIComponent('{user(user:{id:"anna"}){name}}');
    const answer = write(
      `GET /graphql/v1?query=${query} HTTP/1.1\r\n${fields()}\r\nContent-Length: 10\r\n\r\n`,
    );
    expect(await answer).toMatch(/^HTTP\/1\.1 408 /);
    const { state } = impatient.app.get(LoadShedder);
    expect(state.underWay).toBe(1);
    await locking.query('rollback');
    await eventually(() => Promise.resolve(impatient.app.get(LoadShedder).state.underWay), 0);
  });

  it('has its own response, although a later request on its connection does not arrive', async () => {
    const body = JSON.stringify({ query: '{ user(user: {id: "anna"}) { id name } }' });
    const complete = `POST /graphql/v1 HTTP/1.1\r\n${fields()}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
    const answer = write(`${complete}POST /graphql/v1 HTTP/1.1\r\nHost: x\r\n`);
    // Node.js has looked for late requests meanwhile.
    await sleep(3000);
    await locking.query('rollback');
    expect(await answer).toMatch(/^HTTP\/1\.1 200 /);
  });
});

it('is closed if its client does not read the response', async () => {
  const { port, host } = service.config;
  const socket = connect(port, host).pause();
  const closed = { byService: false };
  socket.on('error', () => (closed.byService = true));
  // Together they are larger than the buffers of both sides.
  socket.write('GET /graphql/v1/schema.graphql HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(1000));
  // Writing to a closed connection fails.
  const isClosed = () => {
    socket.write('GET /_health HTTP/1.1\r\nHost: x\r\n\r\n');
    return Promise.resolve(closed.byService);
  };
  await eventually(isClosed, true);
  socket.destroy();
});

it('is closed without a response if the connection sends no request', async () => {
  const { port, host } = service.config;
  expect(await text(connect(port, host))).toBe('');
});

describe('a request that Node.js accepts', () => {
  const body = JSON.stringify({ query: QUERY });
  const request = (path: string, fields: string, version = '1.1') =>
    `POST ${path} HTTP/${version}\r\nContent-Length: ${body.length}\r\n${fields}\r\n\r\n${body}`;
  const JSON_TYPE = 'Content-Type: application/json';

  it.each([
    ['an expectation', `Host: x\r\n${JSON_TYPE}\r\nExpect: foo`, [417, 'BAD_REQUEST']],
    [
      'several Accept fields that are long together',
      `Host: x\r\n${JSON_TYPE}${`\r\nAccept: ${'a/b,'.repeat(100)}a/b`.repeat(3)}`,
      [431, 'PAYLOAD_TOO_LARGE'],
    ],
    ['two hosts', `Host: x\r\nHost: y\r\n${JSON_TYPE}`, [400, 'BAD_REQUEST']],
    ['two types', `Host: x\r\n${JSON_TYPE}\r\ncontent-type: text/plain`, [400, 'BAD_REQUEST']],
    [
      'a long Accept',
      `Host: x\r\n${JSON_TYPE}\r\nAccept: ${'a/b,'.repeat(3000)}a/b`,
      [431, 'PAYLOAD_TOO_LARGE'],
    ],
    [
      'a long If-None-Match',
      `Host: x\r\nIf-None-Match: ${'"a",'.repeat(3000)}"b"`,
      [431, 'PAYLOAD_TOO_LARGE'],
    ],
  ] as [string, string, [number, string]][])(
    'is rejected on any path: %s',
    async (_what, fields, expected) => {
      for (const path of ['/graphql/v1', '/photo/v1/anna', '/oauth2/token', '/nowhere']) {
        await expectRefusal(await sendBytes(service, request(path, fields)), expected);
      }
    },
  );

  it('is rejected on any path: Transfer-Encoding in HTTP/1.0', async () => {
    for (const path of ['/graphql/v1', '/photo/v1/anna']) {
      const chunks = `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;
      const bytes = `POST ${path} HTTP/1.0\r\nHost: x\r\n${JSON_TYPE}\r\nTransfer-Encoding: chunked\r\n\r\n${chunks}`;
      await expectRefusal(await sendBytes(service, bytes), [400, 'BAD_REQUEST']);
    }
  });

  it.each(['gzip, chunked', 'chunked, chunked'])(
    'is rejected on any path: Transfer-Encoding: %s',
    async (coding) => {
      for (const path of ['/graphql/v1', '/oauth2/token']) {
        const chunks = `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;
        const fields = `Host: x\r\n${JSON_TYPE}\r\nTransfer-Encoding: ${coding}`;
        const bytes = `POST ${path} HTTP/1.1\r\n${fields}\r\n\r\n${chunks}`;
        await expectRefusal(await sendBytes(service, bytes), [400, 'BAD_REQUEST']);
      }
    },
  );

  it('is rejected on any path: a URL of more than 8,192 bytes', async () => {
    for (const path of ['/graphql/v1', '/photo/v1/anna', '/oauth2/authorize', '/_health', '/nowhere']) {
      const target = `${path}?x=`.padEnd(8193, 'x');
      const answer = await sendBytes(service, `GET ${target} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`);
      await expectRefusal(answer, [414, 'PAYLOAD_TOO_LARGE']);
    }
  });

  it.each(['*', 'ftp://example.org/graphql/v1'])('gets 404 for the target %s', async (target) => {
    const answer = await sendBytes(service, `GET ${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
    await expectRefusal(answer, [404, 'NOT_FOUND']);
  });

  it('is rejected by the embedded provider if it has many parameters', async () => {
    const target = `/oauth2/authorize?${'a&'.repeat(2000)}`;
    const answer = await sendBytes(
      service,
      `GET ${target} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n`,
    );
    await expectRefusal(answer, [400, 'BAD_REQUEST']);
  });

  it('is rejected if it asks for a tunnel', async () => {
    const answer = await sendBytes(service, 'CONNECT example.org:443 HTTP/1.1\r\nHost: example.org\r\n\r\n');
    await expectRefusal(answer, [405, 'METHOD_NOT_ALLOWED']);
    expect(answer.headers['allow']).toBe('GET, HEAD, POST');
  });

  it('is rejected without a Host, independent of earlier requests', async () => {
    const request = (host: string) =>
      `GET /graphql/v1?query=${QUERY} HTTP/1.1\r\nConnection: close\r\n${host}\r\n`.replaceAll(
        '{ __typename }',
        '{__typename}',
      );
    expect((await sendBytes(service, request('Host: undefined\r\n'))).status).toBe(200);
    expect((await sendBytes(service, request(''))).status).toBe(400);
  });

  it('is logged even if it is not a valid request', async () => {
    await expectRefusal(await sendBytes(service, 'HELLO\r\n\r\n'), [400, 'BAD_REQUEST']);
    const unreadable = 'GET /graphql/v1/%zz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n';
    await expectRefusal(await sendBytes(service, unreadable), [400, 'BAD_REQUEST']);
  });

  it('is answered with 100 if it expects that', async () => {
    const bytes = request(
      '/graphql/v1',
      `Host: x\r\nConnection: close\r\n${JSON_TYPE}\r\nExpect: 100-continue`,
    );
    expect((await sendBytes(service, bytes)).status).toBe(100);
    const answer = await post(service, { query: QUERY }, { expect: '100-continue' });
    expect(answer.status).toBe(200);
  });
});

it('is closed above the maximum of connections, and accepted after others have closed', async () => {
  const { port, host } = service.config;
  const sockets: Socket[] = [];
  for (let count = 0; count < MOST_CONNECTIONS; count++) {
    const socket = connect(port, host).on('error', () => undefined);
    // These connections stay open, because each has had a response.
    socket.write('GET /_health HTTP/1.1\r\nHost: x\r\n\r\n');
    await new Promise((resolve) => socket.once('data', resolve));
    sockets.push(socket);
  }
  await expect(send(service, { path: '/_health' })).rejects.toThrow();
  for (const socket of sockets) socket.destroy();
  await sleep(1);
  const isTaken = async () => {
    const answer = await send(service, { path: '/_health' }).catch(() => null);
    return answer?.status === 200;
  };
  await eventually(isTaken, true);
});
