import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { ExternalIssuer } from '../../src/auth/tokens/external-issuer.js';

describe('an issuer whose metadata has no introspection endpoint', () => {
  let server: Server;
  let url: string;
  let asked: { headers: IncomingHttpHeaders; body: string } | null;

  beforeAll(async () => {
    server = createServer((request, response) => {
      void text(request).then((body) => {
        const isMetadata = request.url === '/.well-known/openid-configuration';
        if (request.url === '/admin/oauth2/introspect') asked = { headers: request.headers, body };
        const answer = isMetadata ? { issuer: url, jwks_uri: `${url}/keys` } : { active: true, sub: 'anna' };
        response.end(JSON.stringify(answer));
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });

  beforeEach(() => {
    asked = null;
  });

  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });

  const client = { clientId: 'api', clientSecret: 'a b' };

  it('is introspected at the configured URL, without credentials if there are none', async () => {
    const named = `${url}/admin/oauth2/introspect`;
    await expect(
      new ExternalIssuer(url, {
        certificates: null,
        introspection: { url: named, client: null, mayLackAudience: false },
      }).introspect('token'),
    ).resolves.toEqual({
      active: true,
      sub: 'anna',
    });
    expect(asked?.headers.authorization).toBeUndefined();
    expect(new URLSearchParams(asked?.body).get('token')).toBe('token');

    await new ExternalIssuer(url, {
      certificates: null,
      introspection: { url: named, client, mayLackAudience: false },
    }).introspect('token');
    expect(asked?.headers.authorization).toBe(`Basic ${btoa('api:a+b')}`);
  });

  it('cannot be introspected without a configured URL', async () => {
    const issuer = new ExternalIssuer(url, {
      certificates: null,
      introspection: { url: null, client, mayLackAudience: false },
    });
    await expect(issuer.introspect('token')).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' });
    expect(asked).toBeNull();
  });
});

describe('an issuer that moves its introspection endpoint', () => {
  it('is found again, without a restart', async () => {
    let path = '/former';
    const server = createServer(({ url: asked }, response) => {
      if (asked === '/.well-known/openid-configuration')
        response.end(
          JSON.stringify({ issuer: url, jwks_uri: `${url}/keys`, introspection_endpoint: `${url}${path}` }),
        );
      else if (asked === path) response.end(JSON.stringify({ active: true, sub: 'anna' }));
      else response.writeHead(404).end();
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    try {
      const issuer = new ExternalIssuer(url, {
        certificates: null,
        introspection: { url: null, client: null, mayLackAudience: false },
      });
      await expect(issuer.introspect('token')).resolves.toMatchObject({ active: true });
      path = '/moved';
      await expect(issuer.introspect('token')).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' });
      await expect(issuer.introspect('token')).resolves.toMatchObject({ active: true });
    } finally {
      server.closeAllConnections();
      server.close();
    }
  });
});
