import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { eventually } from '../support/eventually.js';
import { post, send, sendBytes } from '../support/clients/http.js';
import { WatchedService } from '../support/watched-service.js';

const QUERY = '{ __typename }';
const MOST_CONNECTIONS = 20;

let service: WatchedService;

beforeAll(async () => {
  service = await WatchedService.start({
    environment: {
      LIMIT_REQUEST_SECONDS: '1',
      LIMIT_CONNECTIONS: String(MOST_CONNECTIONS),
    },
  });
});

afterAll(() => service.stop());

const head = (path: string, fields = '') =>
  `POST ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100\r\n${fields}`;

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
    const { status, headers } = await sendBytes(service, bytes);
    expect([status, headers['connection']]).toEqual([408, 'close']);
  });

  it('does not delay other requests', async () => {
    const slow = sendBytes(service, `${head('/graphql/v1', 'Content-Type: application/json\r\n')}\r\n{`);
    expect((await post(service, { query: QUERY })).status).toBe(200);
    expect((await slow).status).toBe(408);
  });
});

it('is closed if its client does not read the response', async () => {
  const { port, host } = service.config;
  const socket = connect(port, host).pause();
  const closed = { byService: false };
  socket.on('error', () => (closed.byService = true));
  const { body } = await send(service, { path: '/explorer' });
  const [script = ''] = /\/explorer\/[^"]+\.js/.exec(body) ?? [];
  // Together they are larger than the buffers of both sides.
  socket.write(`GET ${script} HTTP/1.1\r\nHost: x\r\n\r\n`.repeat(50));
  // Writing to a closed connection fails. Empty lines are no requests (RFC 9112 §2.2), of which there would be too many.
  const isClosed = () => {
    socket.write('\r\n');
    return Promise.resolve(closed.byService);
  };
  await eventually(isClosed, true);
  socket.destroy();
});

it('is closed above the maximum of requests that wait for their responses', async () => {
  const { port, host } = service.config;
  /** The number of responses until the connection is closed, or until the last one. */
  const countResponses = async (requests: number) => {
    const socket = connect(port, host).on('error', () => undefined);
    socket.write('GET /_health HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(requests));
    let received = '';
    for await (const chunk of socket) {
      received += String(chunk);
      if (received.split('HTTP/1.1 200').length > requests) break;
    }
    return received.split('HTTP/1.1 200').length - 1;
  };
  expect(await countResponses(64)).toBe(64);
  expect(await countResponses(1000)).toBeLessThanOrEqual(64);
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
