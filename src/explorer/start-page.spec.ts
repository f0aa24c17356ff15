import { readConfig } from '../config/config.js';
import { renderStartPage } from './start-page.js';

const PRODUCTION = {
  NODE_ENV: 'production',
  BASE_URL: 'https://directory.example.org/school',
  DATABASE_URL: 'postgres://directory@db.example.org/directory',
  DIRECTORY_URL: 'ldaps://ldap.example.org',
  URL_SIGNING_KEYS: 'ab'.repeat(32),
};

function render(environment: Record<string, string>, demoToken: string | null = null): string {
  return renderStartPage(readConfig(environment), demoToken);
}

describe('the start page', () => {
  it('has commands to paste if everything is embedded', () => {
    const page = render({}, 'a-token');
    expect(page).toContain('TOKEN=a-token');
    expect(page).toContain('http://127.0.0.1:3000/oauth2/token');
    expect(page).toContain('-u demo-basic:demo-basic-secret');
    expect(page).toContain('anna.svensson');
    expect(page).toContain('<a href="/explorer">explorer</a>');
  });

  it('names an external issuer, and then no endpoint or client of the embedded provider', () => {
    const page = render({ ...PRODUCTION, AUTH_URL: 'https://id.example.org' });
    expect(page).toContain('<code>https://id.example.org</code>');
    expect(page).toContain('audience <code>https://directory.example.org/school</code>');
    expect(page).toContain('https://directory.example.org/school/graphql/v1');
    expect(page).not.toMatch(
      /oauth2|demo-|anna\.svensson|href="[^"]*schema\.graphql|<a href="[^"]*explorer">explorer/,
    );
  });

  it('says in production that users sign in on the explorer only if they can', () => {
    const link = 'the <a href="/school/explorer">explorer</a>';
    const environment = { ...PRODUCTION, AUTH_URL: 'https://id.example.org', EXPLORER: 'true' };
    expect(render(environment)).toContain(`${link}</p>`);
    expect(render({ ...environment, EXPLORER_CLIENT_ID: 'explorer' })).toContain(`${link}: sign in</p>`);
  });

  it('has no queries that the service refuses', () => {
    const config = readConfig({});
    const refusing = {
      ...config,
      trustedDocuments: { documents: new Map<string, string>(), isEnforced: true },
    };
    expect(renderStartPage(config, 'a-token')).toContain('curl');
    expect(renderStartPage(refusing, 'a-token')).not.toMatch(/curl|a-token/);
  });

  it('contains no secrets of clients other than those of the sample', () => {
    const page = render({ AUTH_EMBEDDED_CLIENTS: 'clients.json', DIRECTORY_URL: 'file:own.ldif' });
    expect(page).toContain('-u CLIENT_ID:CLIENT_SECRET');
    expect(page).not.toMatch(/demo-|anna\.svensson/);
  });
});
