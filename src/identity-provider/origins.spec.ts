import {
  type EmbeddedProvider,
  startEmbeddedProvider,
} from '../../test/support/builders/embedded-provider.js';

const CLIENT = {
  client_id: 'app',
  token_endpoint_auth_method: 'none',
  grant_types: ['authorization_code', 'refresh_token'],
  redirect_uris: ['http://127.0.0.1/callback'],
};

describe('the token endpoint', () => {
  let provider: EmbeddedProvider;

  beforeAll(async () => {
    provider = await startEmbeddedProvider([CLIENT], {
      corsOrigins: ['https://pages.example.org'],
      findPerson: () => Promise.resolve(null),
    });
  });

  afterAll(() => provider.close());

  it('allows pages of the configured origins to request tokens, and no others', async () => {
    const allowed = async (origin: string) => {
      const response = await fetch(`${provider.issuer}/oauth2/token`, {
        method: 'POST',
        headers: { origin },
        body: new URLSearchParams({ client_id: 'app', grant_type: 'refresh_token', refresh_token: 'x' }),
      });
      return response.headers.get('access-control-allow-origin');
    };
    expect(await allowed('https://pages.example.org')).toBe('https://pages.example.org');
    expect(await allowed('https://evil.example')).toBeNull();
  });
});
