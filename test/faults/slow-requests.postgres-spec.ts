import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { ERROR_CODES } from '../../src/common/errors.js';
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

/** The line of the log about a request. */
async function lineOf(requestId: string): Promise<Record<string, unknown> | null> {
  const line = () => service.said.split('\n').find((each) => each.includes(requestId)) ?? null;
  await eventually(() => Promise.resolve(line() !== null), true);
  return JSON.parse(line() ?? 'null') as Record<string, unknown> | null;
}

/** What every refusal has: headers, a code of the list, and a line of the log with its status. */
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

  it('ends with 408, however often a byte of it comes', async () => {
    const socket = connect(service.config.port, service.config.host);
    socket.on('error', () => undefined);
    socket.write(`${head('/graphql/v1', 'Content-Type: application/json\r\n')}\r\n`);
    const timer = setInterval(() => socket.write(' '), 200);
    const answer = await text(socket);
    clearInterval(timer);
    expect(answer).toMatch(/^HTTP\/1\.1 408 /);
  });

  it('is closed without a second answer where it was refused before its body', async () => {
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

  it('keeps nobody else from an answer', async () => {
    const slow = sendBytes(service, `${head('/graphql/v1', 'Content-Type: application/json\r\n')}\r\n{`);
    expect((await post(service, { query: QUERY })).status).toBe(200);
    expect((await slow).status).toBe(408);
  });
});

it('is closed when its client does not read what was asked for', async () => {
  const { port, host } = service.config;
  const socket = connect(port, host).pause();
  const closed = { byService: false };
  socket.on('error', () => (closed.byService = true));
  // Together they are more than the buffers of both sides take.
  socket.write('GET /graphql/v1/schema.graphql HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(1000));
  // A connection that is gone refuses what is written to it.
  const isClosed = () => {
    socket.write('GET /_health HTTP/1.1\r\nHost: x\r\n\r\n');
    return Promise.resolve(closed.byService);
  };
  await eventually(isClosed, true);
  socket.destroy();
});

it('is closed without an answer when a connection asks for nothing', async () => {
  const { port, host } = service.config;
  expect(await text(connect(port, host))).toBe('');
});

describe('what Node lets through', () => {
  const body = JSON.stringify({ query: QUERY });
  const request = (path: string, fields: string, version = '1.1') =>
    `POST ${path} HTTP/${version}\r\nContent-Length: ${body.length}\r\n${fields}\r\n\r\n${body}`;
  const JSON_TYPE = 'Content-Type: application/json';

  it.each([
    ['an expectation', `Host: x\r\n${JSON_TYPE}\r\nExpect: foo`, [417, 'BAD_REQUEST']],
    [
      'several Accept that are long together',
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
    'is refused, whatever its path: %s',
    async (_what, fields, expected) => {
      for (const path of ['/graphql/v1', '/photo/v1/anna', '/oauth2/token', '/nowhere']) {
        await expectRefusal(await sendBytes(service, request(path, fields)), expected);
      }
    },
  );

  it('is refused, whatever its path: Transfer-Encoding in HTTP/1.0', async () => {
    for (const path of ['/graphql/v1', '/photo/v1/anna']) {
      const chunks = `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;
      const bytes = `POST ${path} HTTP/1.0\r\nHost: x\r\n${JSON_TYPE}\r\nTransfer-Encoding: chunked\r\n\r\n${chunks}`;
      await expectRefusal(await sendBytes(service, bytes), [400, 'BAD_REQUEST']);
    }
  });

  it.each(['gzip, chunked', 'chunked, chunked'])(
    'is refused, whatever its path: Transfer-Encoding: %s',
    async (coding) => {
      for (const path of ['/graphql/v1', '/oauth2/token']) {
        const chunks = `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;
        const fields = `Host: x\r\n${JSON_TYPE}\r\nTransfer-Encoding: ${coding}`;
        const bytes = `POST ${path} HTTP/1.1\r\n${fields}\r\n\r\n${chunks}`;
        await expectRefusal(await sendBytes(service, bytes), [400, 'BAD_REQUEST']);
      }
    },
  );

  it('is refused, whatever its path: a URL of more than 8,192 bytes', async () => {
    for (const path of ['/graphql/v1', '/photo/v1/anna', '/oauth2/authorize', '/_health', '/nowhere']) {
      const target = `${path}?x=`.padEnd(8193, 'x');
      const answer = await sendBytes(service, `GET ${target} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`);
      await expectRefusal(answer, [414, 'PAYLOAD_TOO_LARGE']);
    }
  });

  it.each(['*', 'ftp://example.org/graphql/v1'])('has nothing at the target %s', async (target) => {
    const answer = await sendBytes(service, `GET ${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
    await expectRefusal(answer, [404, 'NOT_FOUND']);
  });

  it('is refused by the embedded provider where it has many parameters', async () => {
    const target = `/oauth2/authorize?${'a&'.repeat(2000)}`;
    const answer = await sendBytes(
      service,
      `GET ${target} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n`,
    );
    await expectRefusal(answer, [400, 'BAD_REQUEST']);
  });

  it('is refused where it asks for a tunnel', async () => {
    const answer = await sendBytes(service, 'CONNECT example.org:443 HTTP/1.1\r\nHost: example.org\r\n\r\n');
    await expectRefusal(answer, [405, 'METHOD_NOT_ALLOWED']);
    expect(answer.headers['allow']).toBe('GET, POST');
  });

  it('is refused without a Host, whatever others have sent', async () => {
    const request = (host: string) =>
      `GET /graphql/v1?query=${QUERY} HTTP/1.1\r\nConnection: close\r\n${host}\r\n`.replaceAll(
        '{ __typename }',
        '{__typename}',
      );
    expect((await sendBytes(service, request('Host: undefined\r\n'))).status).toBe(200);
    expect((await sendBytes(service, request(''))).status).toBe(400);
  });

  it('has a line of the log where it is no request at all', async () => {
    await expectRefusal(await sendBytes(service, 'HELLO\r\n\r\n'), [400, 'BAD_REQUEST']);
  });

  it('is answered where it expects to go on', async () => {
    const bytes = request(
      '/graphql/v1',
      `Host: x\r\nConnection: close\r\n${JSON_TYPE}\r\nExpect: 100-continue`,
    );
    expect((await sendBytes(service, bytes)).status).toBe(100);
    const answer = await post(service, { query: QUERY }, { expect: '100-continue' });
    expect(answer.status).toBe(200);
  });
});

it('closes connections beyond those that it may have, and takes others when some have gone', async () => {
  const { port, host } = service.config;
  const sockets: Socket[] = [];
  for (let count = 0; count < MOST_CONNECTIONS; count++) {
    const socket = connect(port, host).on('error', () => undefined);
    // They stay, because each has been answered.
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
