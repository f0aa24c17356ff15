import { get, post, send } from '../support/clients/http.js';
import { TestService } from '../support/servers/service.js';

const ISSUER = 'https://login.example.org';
const EVENTS = { accept: 'text/event-stream' };
const METADATA = /resource_metadata="([^"]+)"/;

describe.each([
  ['without a path', 'https://directory.example.org', ''],
  ['with a path', 'https://example.org/school', '/school'],
])('the metadata of the API (RFC 9728), of a service %s', (_what, baseUrl, basePath) => {
  const service = TestService.forSuite({ environment: { BASE_URL: baseUrl, AUTH_URL: ISSUER } });

  async function read(path: string): Promise<Record<string, unknown>> {
    const { status, headers, body } = await send(service, { path });
    expect([status, headers['content-type']]).toEqual([200, 'application/json; charset=utf-8']);
    return JSON.parse(body) as Record<string, unknown>;
  }

  it.each(['', '/graphql/v1', '/changes/v1'])(
    'has all that the RFC demands, for the resource «%s»',
    async (path) => {
      // §3.1 and §3.3: the resource is the URL without the well-known part, which is behind the host, or below BASE_URL.
      for (const target of [
        `/.well-known/oauth-protected-resource${basePath}${path}`,
        `${basePath}/.well-known/oauth-protected-resource${path}`,
      ]) {
        const metadata = await read(target);
        expect(metadata['resource']).toBe(`${baseUrl}${path}`);
        expect(metadata).toMatchObject({
          authorization_servers: [ISSUER],
          bearer_methods_supported: ['header'],
        });
        expect(metadata['scopes_supported']).toEqual(['profile', 'read', 'directory', 'write']);
        // §2: URLs with https and without a fragment. §3.2: no member without a value.
        for (const url of [metadata['resource'], ISSUER]) expect(url).toMatch(/^https:\/\/[^#]+$/);
        for (const value of Object.values(metadata)) expect([null, '', [], {}]).not.toContainEqual(value);
      }
    },
  );

  it('is in the challenge of every path that takes tokens, with Basic beside it', async () => {
    const query = '{ profile { name } }';
    const answers = [
      ['/graphql/v1', await post(service, { query })],
      ['/graphql/v1', await get(service, { query })],
      ['/graphql/v1', await get(service, { query }, { authorization: 'Bearer x' })],
      ['/changes/v1', await send(service, { path: '/changes/v1', headers: EVENTS })],
      ['/changes/v1', await send(service, { path: '/changes/v1?x=/graphql/v1', headers: EVENTS })],
      ['/changes/v1', await send(service, { path: `${basePath}/changes/v1`, headers: EVENTS })],
    ] as const;
    for (const [path, { status, headers }] of answers) {
      const challenge = String(headers['www-authenticate']);
      expect([path, status, challenge]).toEqual([
        path,
        401,
        expect.stringMatching(/^Bearer realm="directory".*, Basic realm="directory", charset="UTF-8"$/),
      ]);
      const [, url = ''] = METADATA.exec(challenge) ?? [];
      expect(url.startsWith(`${baseUrl}/`)).toBe(true);
      expect((await read(new URL(url).pathname))['resource']).toBe(`${baseUrl}${path}`);
    }
  });

  it('is in the challenge of a missing scope', async () => {
    const authorization = await service.serviceAccount('read');
    for (let time = 0; time < 2; time++) {
      const { status, headers } = await post(
        service,
        { query: '{ users(first: 1) { totalCount } }' },
        { authorization },
      );
      expect([status, headers['www-authenticate']]).toEqual([
        403,
        `Bearer error="insufficient_scope", scope="directory", resource_metadata="${baseUrl}/.well-known/oauth-protected-resource/graphql/v1", Basic realm="directory", charset="UTF-8"`,
      ]);
    }
  });
});
