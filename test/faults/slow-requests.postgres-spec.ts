import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { ERROR_CODES } from '../../src/common/errors.js';
import pg from 'pg';
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

  it('is closed without a second response if it was rejected before its body', async () => {
    const bytes = `${head('/graphql/v1', 'Content-Type: text/plain\r\n')}\r\n{`;
    const socket = connect(service.config.port, service.config.host, () => socket.write(bytes));
    const answer = await text(socket);
    expect(answer.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 415']);
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

  it('is answered with 408, and the next one after the end of its operation', async () => {
    const query = encodeURIComponent('{user(user:{id:"anna"}){name}}');
    const answer = write(
      `GET /graphql/v1?query=${query} HTTP/1.1\r\n${fields()}\r\nContent-Length: 10\r\n\r\n`,
    );
    expect(await answer).toMatch(/^HTTP\/1\.1 408 /);
    await locking.query('rollback');
    await impatient.read('{ user(user: {id: "anna"}) { name } }', { authorization });
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
