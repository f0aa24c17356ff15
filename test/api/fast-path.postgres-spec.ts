import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { ResponseCache } from '../../src/graphql/cache/response-cache.js';
import { FastPath } from '../../src/graphql/http/fast-path.js';
import { buildLdif } from '../support/builders/directory.js';
import { eventually } from '../support/eventually.js';
import { type HttpAnswer, post, refusalOf, send } from '../support/clients/http.js';
import { TestService } from '../support/servers/service.js';

const ldif = buildLdif([{ id: 'zoé', name: 'Zoé' }], [{ id: 'club', members: ['zoé'] }]);
const CLUB =
  'query Club { group(group: {id: "club"}) { name members(first: 5) { nodes { user { name } } } } }';
/** Headers that differ: rate limits and the request id. */
const VARYING = ['date', 'x-request-id', 'ratelimit'];
/** Fastify handles requests whose bodies have no length. */
const BY_FASTIFY = { 'transfer-encoding': 'chunked' };
/** A page that CORS_ORIGINS allows, and another one. */
const ORIGINS = ['https://club.example.org', 'https://other.example.org'];

function comparable({ status, headers, body }: HttpAnswer) {
  const steady = Object.entries(headers).filter(([name]) => !VARYING.includes(name));
  return { status, body, headers: Object.fromEntries(steady.sort()) };
}

describe('a request that can be answered before Fastify handles it', () => {
  const service = TestService.forSuite({
    ldif,
    compared: false,
    environment: { LIMIT_POINTS_PER_HOUR: '80', CORS_ORIGINS: 'https://club.example.org' },
  });
  let authorization: string;
  /** Statuses of requests that Fastify did not handle. */
  const short: number[] = [];

  beforeAll(async () => {
    const fastPath = service.app.get(FastPath);
    const { observer } = fastPath;
    fastPath.observer = (request, response, began) => {
      response.once('finish', () => short.push(response.statusCode));
      observer?.(request, response, began);
    };
    authorization = await service.accessToken('read');
    for (let time = 0; time < 3; time++) await post(service, { query: CLUB }, { authorization });
  });

  beforeEach(() => {
    short.length = 0;
  });

  const found = () => service.app.get(ResponseCache).statistics.hits;

  /** Sends chunks, and reads as many responses as are expected. */
  async function write(pieces: readonly string[], responses = 1): Promise<string> {
    const socket = connect(service.config.port, service.config.host);
    let received = '';
    socket.setEncoding('utf8').on('data', (text: string) => (received += text));
    await once(socket, 'connect');
    for (const piece of pieces) {
      socket.write(piece);
      await sleep(100);
    }
    await eventually(() => Promise.resolve(received.match(/\r\n\r\n\{.*\}/g)?.length), responses);
    socket.destroy();
    return received;
  }

  function requestOf(query: string, id: string): [head: string, body: string] {
    const body = JSON.stringify({ query });
    const fields = [
      `Host: ${service.config.host}:${service.config.port}`,
      'Content-Type: application/json',
      `Authorization: ${authorization}`,
      `X-Request-Id: ${id}`,
      `Content-Length: ${Buffer.byteLength(body)}`,
    ];
    return [`POST /graphql/v1 HTTP/1.1\r\n${fields.join('\r\n')}\r\n\r\n`, body];
  }

  it('has the same response on both paths', async () => {
    const hits = found();
    const one = await post(service, { query: CLUB }, { authorization });
    const other = await post(service, { query: CLUB }, { authorization, ...BY_FASTIFY });
    expect(short).toEqual([200]);
    expect(found()).toBe(hits + 2);
    expect(comparable(one)).toEqual(comparable(other));
    expect(one.body).toContain('Zoé');
    expect(one.headers['ratelimit']).toMatch(
      /"requests";r=\d+;t=\d+, "points";r=\d+;t=\d+;directory-cost=1$/,
    );
  });

  it.each(ORIGINS)('has the same response on both paths for a page of %s', async (origin) => {
    const one = await post(service, { query: CLUB }, { authorization, origin });
    const other = await post(service, { query: CLUB }, { authorization, origin, ...BY_FASTIFY });
    expect(short).toEqual([200]);
    expect(comparable(one)).toEqual(comparable(other));
    expect(one.headers['access-control-allow-origin']).toBe(origin === ORIGINS[0] ? origin : undefined);
    expect(one.headers.vary).toBe('Origin');
  });

  it.each([
    ['an object that does not exist', '{ group(group: {id: "none"}) { name } }'],
    ['an invalid document', '{ wrong }'],
    ['a syntax error', '{'],
    ['an empty document', ''],
    ['a scope that the token has not', '{ profile { email } }'],
    ['a preview', 'mutation { removeMembership(input: {user: {id: "zoé"}, group: {id: "club"}}) { ldif } }'],
  ])('has the same response on both paths for %s', async (_, query) => {
    const headers = { authorization, 'x-request-id': 'equal', 'directory-max-staleness': '999999' };
    const one = await post(service, { query }, headers);
    expect(short).toEqual([one.status]);
    expect(comparable(one)).toEqual(
      comparable(await post(service, { query }, { ...headers, ...BY_FASTIFY })),
    );
  });

  it.each([
    [406, { accept: 'text/plain' }],
    [415, { 'content-type': 'text/plain' }],
    [400, { 'directory-max-staleness': 'x' }],
  ])('is counted on both paths if its head is rejected with %d', async (status, fields) => {
    const headers = { authorization, 'x-request-id': 'equal', ...fields };
    const one = await post(service, { query: CLUB }, headers);
    expect(short).toEqual([status]);
    expect(one.headers['ratelimit']).toMatch(/^"requests";r=\d+;t=\d+$/);
    const other = await post(service, { query: CLUB }, { ...headers, ...BY_FASTIFY });
    expect(comparable(one)).toEqual(comparable(other));
  });

  it('is answered in order on a connection with pipelined requests', async () => {
    const received = await write(
      [
        [
          ...requestOf(CLUB, 'one'),
          ...requestOf('{ buildInfo { version } }', 'two'),
          ...requestOf(CLUB, 'three'),
        ].join(''),
      ],
      3,
    );
    expect(received.match(/x-request-id: \w+/g)).toEqual(
      ['one', 'two', 'three'].map((id) => `x-request-id: ${id}`),
    );
    expect(received.match(/HTTP\/1\.1 200 OK/g)).toHaveLength(3);
    expect(short).toEqual([200, 200, 200]);
  });

  it('is answered if it arrives in pieces or chunks', async () => {
    const [head, body] = requestOf(CLUB, 'pieces');
    expect(await write([head, body.slice(0, 20), body.slice(20)])).toContain('Zoé');
    expect(await write([head.slice(0, 40), head.slice(40) + body])).toContain('Zoé');
    const chunked = head.replace(/Content-Length: \d+/, 'Transfer-Encoding: chunked');
    expect(await write([`${chunked}${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`])).toContain('Zoé');
  });

  it('is rejected if its target is too long', async () => {
    const headers = { 'content-type': 'application/json', authorization };
    const path = `/graphql/v1?${'x'.repeat(9000)}`;
    const answer = await send(service, {
      method: 'POST',
      path,
      headers,
      body: JSON.stringify({ query: CLUB }),
    });
    expect(refusalOf(answer)).toEqual([414, 'PAYLOAD_TOO_LARGE']);
    expect(short).toEqual([]);
  });

  it.each(['application/json; a b', 'application/json; charset="utf-8"', 'Application/JSON;charset=UTF-8'])(
    'is answered like the first time with content type %s',
    async (type) => {
      const headers = { authorization, 'content-type': type };
      const statuses = [];
      for (let time = 0; time < 3; time++)
        statuses.push((await post(service, { query: CLUB }, headers)).status);
      expect(new Set(statuses).size).toBe(1);
    },
  );

  it('is rejected if its bytes are not valid text', async () => {
    const bytes = Buffer.concat([Buffer.from('{"query":"{ a'), Buffer.from([0xff]), Buffer.from('"}')]);
    expect(refusalOf(await post(service, bytes, { authorization }))).toEqual([400, 'BAD_REQUEST']);
    expect(short).toEqual([]);
  });

  it('is rejected on both paths if no points are left', async () => {
    for (let time = 0; time < 90 && short.at(-1) !== 429; time++) {
      await post(service, { query: CLUB }, { authorization });
    }
    const one = await post(service, { query: CLUB }, { authorization });
    const other = await post(service, { query: CLUB }, { authorization, ...BY_FASTIFY });
    expect(short.slice(-2)).toEqual([429, 429]);
    expect(refusalOf(one)).toEqual([429, 'RATE_LIMITED']);
    expect(refusalOf(other)).toEqual([429, 'RATE_LIMITED']);
    expect(Object.keys(comparable(one).headers)).toEqual(Object.keys(comparable(other).headers));
  });
});
