import { DemoServiceAccount } from '../../src/service-accounts/demo-service-account.js';
import { type HttpAnswer, send } from '../support/clients/http.js';
import { TestService } from '../support/servers/service.js';

const LOCAL = [
  'localhost',
  '127.0.0.1:3000',
  '127.8.9.10',
  '[::1]:3000',
  'club.localhost',
  'directory.example.org',
];
const FOREIGN = [
  'evil.example',
  'localhost.evil.example',
  '127.0.0.1.evil.example',
  '10.0.0.7:3000',
  'x@localhost',
];

/** Endpoints of the embedded provider, by method and path. */
const PROVIDER: [method: string, path: string][] = [
  ['GET', '/.well-known/openid-configuration'],
  ['GET', '/.well-known/oauth-authorization-server'],
  ['POST', '/oauth2/token'],
  ['GET', '/oauth2/authorize'],
  ['GET', '/oauth2/device'],
  ['POST', '/oauth2/device_authorization'],
  ['GET', '/oauth2/jwks'],
  ['GET', '/oauth2/logout'],
  ['GET', '/oauth2/nothing'],
  ['GET', '/interaction/abc'],
];

const QUERY = JSON.stringify({ query: '{ groups(first: 1) { totalCount } }' });

describe('an embedded service', () => {
  const service = TestService.forSuite({
    environment: { BASE_URL: 'http://directory.example.org', DIRECTORY_URL: 'file:sample/directory.ldif' },
    compared: false,
  });
  let token: string;

  beforeAll(async () => {
    token = (await service.app.get(DemoServiceAccount).ensure()) ?? '';
  });

  function sendRequest(method: string, path: string, host: string): Promise<HttpAnswer> {
    return send(service, { method, path, headers: { host } });
  }

  function query(host: string, id: string, more: Record<string, string> = {}): Promise<HttpAnswer> {
    const headers = { host, 'content-type': 'application/json', authorization: `Basic ${id}`, ...more };
    return send(service, { method: 'POST', headers, body: QUERY });
  }

  it.each(PROVIDER)(
    'includes the provider: %s %s is available to this machine only',
    async (method, path) => {
      for (const host of LOCAL) {
        const { status, body } = await sendRequest(method, path, host);
        expect([host, status]).not.toEqual([host, 403]);
        expect(body).not.toContain('ALLOW_EMBEDDED');
      }
      for (const host of FOREIGN) {
        const { status, headers, body } = await sendRequest(method, path, host);
        expect([host, status, headers['content-type']]).toEqual([host, 403, 'application/problem+json']);
        expect(JSON.parse(body)).toMatchObject({
          code: 'FORBIDDEN',
          detail: expect.stringMatching(
            /requests to localhost.*set BASE_URL .*or ALLOW_EMBEDDED=true/,
          ) as string,
        });
        expect(body).not.toContain(host);
        expect(headers['set-cookie']).toBeUndefined();
      }
    },
  );

  it('includes the demonstration token and ids of users: only on the pages of this machine', async () => {
    expect(token).not.toBe('');
    for (const host of LOCAL) {
      expect((await sendRequest('GET', '/', host)).body).toContain('such as <code>');
      expect((await sendRequest('GET', '/explorer', host)).body).toContain(token);
    }
    for (const host of FOREIGN) {
      const { status, body } = await sendRequest('GET', '/', host);
      expect(status).toBe(200);
      expect(body).not.toContain('such as <code>');
      expect((await sendRequest('GET', '/explorer', host)).body).not.toContain(token);
    }
  });

  it('includes the demonstration account: under other host names it is rejected with any secret', async () => {
    for (const host of LOCAL) expect((await query(host, token)).status).toBe(200);
    const wrong = Buffer.from('demo:wrong').toString('base64');
    for (const host of FOREIGN) {
      for (const each of [token, wrong]) {
        const { status, body } = await query(host, each);
        expect([host, status]).toEqual([host, 403]);
        expect(JSON.parse(body)).toMatchObject({ errors: [{ extensions: { code: 'FORBIDDEN' } }] });
      }
    }
  });
});

describe('an embedded service, with ALLOW_EMBEDDED', () => {
  it('is available under every host name', async () => {
    const service = await TestService.start({ environment: { ALLOW_EMBEDDED: 'true' }, compared: false });
    try {
      const token = (await service.app.get(DemoServiceAccount).ensure()) ?? '';
      const host = 'demonstration.example';
      expect((await send(service, { path: '/oauth2/jwks', headers: { host } })).status).toBe(200);
      const headers = { host, 'content-type': 'application/json', authorization: `Basic ${token}` };
      expect((await send(service, { method: 'POST', headers, body: QUERY })).status).toBe(200);
      // The directory is not the sample.
      expect((await send(service, { path: '/', headers: { host: 'localhost' } })).body).not.toContain(token);
    } finally {
      await service.stop();
    }
  });
});
