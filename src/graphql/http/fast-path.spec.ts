import type { IncomingMessage } from 'node:http';
import proxyAddr from '@fastify/proxy-addr';
import { readConfig } from '../../config/config.js';
import { LoadShedder, RequestAdmission } from './request-admission.js';
import { FastPath } from './fast-path.js';
import { PreparsedRequest } from './pipeline-request.js';

/** A load shedder at its limit that has just rejected more than it could read. */
function overloaded(): LoadShedder {
  const shedder = new LoadShedder();
  // Far enough ahead that no further interval begins during the test.
  const now = performance.now() + 3_600_000;
  shedder.begin(now);
  for (let accepted = 1; accepted < shedder.state.limit; accepted++) shedder.begin(now);
  for (let rejected = 0; rejected < 100; rejected++) shedder.begin(now);
  // Begins the next interval.
  shedder.begin(now + 150);
  return shedder;
}

/** The status of the response; null if the request is left to Fastify. */
function send(shedder: LoadShedder, url: string, headers: IncomingMessage['headers'] = {}): number | null {
  const config = readConfig({ BASE_URL: 'http://127.0.0.1:3000/school' });
  const unused = null as never;
  const admission = new RequestAdmission(shedder, unused, unused);
  const fastPath = new FastPath(config, unused, admission, shedder);
  let status: number | null = null;
  fastPath.handle(
    { method: 'GET', url, headers, rawHeaders: [] as string[] } as IncomingMessage,
    () => undefined,
    () => (response) => {
      status = response.status;
    },
  );
  return status;
}

describe('an overloaded service', () => {
  it('rejects requests to the endpoint, with the path of BASE_URL or without it, and counts them', () => {
    for (const url of ['/graphql/v1', '/graphql/v1?query={a}', '/school/graphql/v1']) {
      const shedder = overloaded();
      const { rejected } = shedder.state;
      expect([url, send(shedder, url), shedder.state.rejected]).toEqual([url, 503, rejected + 1]);
    }
  });

  it.each(['/', '/_health', '/photo/v1/anna', '/graphql/v1x', '/graphql/v1/schema.graphql'])(
    'leaves %s to Fastify',
    (url) => {
      expect(send(overloaded(), url)).toBeNull();
    },
  );

  it('rejects requests of pages of other origins too', () => {
    expect(send(overloaded(), '/graphql/v1', { origin: 'https://club.example.org' })).toBe(503);
  });

  it('rejects nothing below its limit', () => {
    expect(send(new LoadShedder(), '/graphql/v1')).toBeNull();
  });
});

describe('the address of a client', () => {
  const addressOf = (proxies: string[]) => {
    const headers = { 'x-forwarded-for': '198.51.100.1, 203.0.113.7' };
    const raw = {
      headers,
      socket: { remoteAddress: '10.0.0.1' },
      rawHeaders: [],
    } as unknown as IncomingMessage;
    return new PreparsedRequest(raw, proxyAddr.compile(proxies)).ip;
  };

  it('is that before the reverse proxies, and otherwise that of the connection', () => {
    expect(addressOf(['10.0.0.0/8'])).toBe('203.0.113.7');
    expect(addressOf([])).toBe('10.0.0.1');
  });
});
