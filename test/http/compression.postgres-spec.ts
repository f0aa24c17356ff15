import { type IncomingHttpHeaders, request as startRequest } from 'node:http';
import { buffer } from 'node:stream/consumers';
import zlib from 'node:zlib';
import { buildLdif } from '../support/builders/directory.js';
import { TestService } from '../support/servers/service.js';

const MEMBERS = Array.from({ length: 100 }, (_, index) => `user-${index}`);
const ldif = (name: string) =>
  buildLdif(
    MEMBERS.map((id) => ({ id, name: `${name} ${id} ${'x'.repeat(400)}` })),
    [{ id: 'club', members: MEMBERS }],
  );
const pageOf = (size: number, fields = 'name') =>
  `{ group(group: {id: "club"}) { members(first: ${size}) { nodes { user { ${fields} } } } } }`;

interface Received {
  status: number;
  headers: IncomingHttpHeaders;
  bytes: Buffer;
  /** The bytes without their coding. */
  text: string;
}

describe('a response', () => {
  const service = TestService.forSuite({ ldif: ldif('Person'), compared: false });
  let authorization: string;
  let comments = 0;

  beforeAll(async () => {
    authorization = await service.accessToken('read');
  });

  /** A query whose response is not cached. */
  const newQuery = (query = pageOf(5)) => `${query} # ${++comments}`;

  function send(query: string, acceptEncoding: string | null, method = 'POST'): Promise<Received> {
    const { host, port } = service.config;
    const body = JSON.stringify({ query });
    const headers = {
      authorization,
      ...(method === 'POST'
        ? { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }
        : {}),
      ...(acceptEncoding === null ? {} : { 'accept-encoding': acceptEncoding }),
    };
    const path = `/graphql/v1${method === 'POST' ? '' : `?query=${encodeURIComponent(query)}`}`;
    return new Promise((resolve, reject) => {
      const sent = startRequest({ host, port, path, method, headers, agent: false }, (response) => {
        buffer(response).then((bytes) => {
          const { statusCode: status = 0, headers: received } = response;
          resolve({ status, headers: received, bytes, text: decode(bytes, received['content-encoding']) });
        }, reject);
      });
      sent.on('error', reject);
      sent.end(method === 'POST' ? body : undefined);
    });
  }

  it.each<[string | null, string | undefined]>([
    [null, undefined],
    ['', undefined],
    ['gzip', 'gzip'],
    ['br', 'br'],
    ['GZIP', 'gzip'],
    ['gzip, deflate', 'gzip'],
    ['gzip, deflate, br, zstd', 'gzip'],
    ['br, gzip', 'br'],
    ['gzip;q=0.5, br;q=0.8', 'br'],
    ['gzip;q=0, br;q=0', undefined],
    ['gzip;q=0', undefined],
    ['deflate, zstd', undefined],
    ['identity', undefined],
    ['identity, gzip;q=0.5', undefined],
    ['identity;q=0, gzip', 'gzip'],
    ['identity;q=0', undefined],
    ['*', 'br'],
    ['*;q=0', undefined],
    ['*;q=0, br;q=0.1', 'br'],
    [`${'x'.repeat(600)}, gzip`, 'gzip'],
  ])('is compressed as Accept-Encoding allows: «%s»', async (acceptEncoding, coding) => {
    for (const method of ['POST', 'GET']) {
      const query = newQuery();
      const { text } = await send(query, null, method);
      for (let time = 0; time < 4; time++) {
        const answer = await send(query, acceptEncoding, method);
        expect([answer.headers['content-encoding'], answer.text]).toEqual([coding, text]);
        expect(answer.headers['content-length']).toBe(String(answer.bytes.length));
        if (coding !== undefined) expect(answer.bytes.length).toBeLessThan(text.length / 2);
      }
    }
  });
});

function decode(bytes: Buffer, coding: string | undefined): string {
  if (coding === 'gzip') return zlib.gunzipSync(bytes).toString();
  return (coding === 'br' ? zlib.brotliDecompressSync(bytes) : bytes).toString();
}
