import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { buildLdif } from '../support/builders/directory.js';
import { eventually } from '../support/eventually.js';
import { post, refusalOf, send } from '../support/clients/http.js';
import { TestService } from '../support/servers/service.js';

const ldif = buildLdif([{ id: 'zoé', name: 'Zoé' }], [{ id: 'club', members: ['zoé'] }]);
const CLUB =
  'query Club { group(group: {id: "club"}) { name members(first: 5) { nodes { user { name } } } } }';
describe('the bytes of a request', () => {
  const service = TestService.forSuite({
    ldif,
    compared: false,
  });
  let authorization: string;
  beforeAll(async () => {
    authorization = await service.accessToken('read');
    for (let time = 0; time < 3; time++) await post(service, { query: CLUB }, { authorization });
  });

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

  it('are answered in order on a connection with pipelined requests', async () => {
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
  });

  it('are answered if they arrive in pieces or chunks', async () => {
    const [head, body] = requestOf(CLUB, 'pieces');
    expect(await write([head, body.slice(0, 20), body.slice(20)])).toContain('Zoé');
    expect(await write([head.slice(0, 40), head.slice(40) + body])).toContain('Zoé');
    const chunked = head.replace(/Content-Length: \d+/, 'Transfer-Encoding: chunked');
    expect(await write([`${chunked}${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`])).toContain('Zoé');
  });

  it('are rejected if the target is too long', async () => {
    const headers = { 'content-type': 'application/json', authorization };
    const path = `/graphql/v1?${'x'.repeat(9000)}`;
    const answer = await send(service, {
      method: 'POST',
      path,
      headers,
      body: JSON.stringify({ query: CLUB }),
    });
    expect(refusalOf(answer)).toEqual([414, 'PAYLOAD_TOO_LARGE']);
  });

  it.each(['application/json; a b', 'application/json; charset="utf-8"', 'Application/JSON;charset=UTF-8'])(
    'are answered like the first time with content type %s',
    async (type) => {
      const headers = { authorization, 'content-type': type };
      const statuses = [];
      for (let time = 0; time < 3; time++)
        statuses.push((await post(service, { query: CLUB }, headers)).status);
      expect(new Set(statuses).size).toBe(1);
    },
  );

  it('are rejected if they are not valid text', async () => {
    const bytes = Buffer.concat([Buffer.from('{"query":"{ a'), Buffer.from([0xff]), Buffer.from('"}')]);
    expect(refusalOf(await post(service, bytes, { authorization }))).toEqual([400, 'BAD_REQUEST']);
  });
});
