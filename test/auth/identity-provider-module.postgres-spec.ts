import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Logger, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { Test } from '@nestjs/testing';
import { createLocalJWKSet, type JSONWebKeySet, jwtVerify } from 'jose';
import { insertObject, writeFirstRevision } from '../support/builders/first-revision.js';
import { FormBrowser } from '../support/clients/form-browser.js';
import { createDatabase, type TestDatabase } from '../support/servers/store.js';
import { EmbeddedIssuer } from '../../src/auth/tokens/issuer-keys.js';
import { type Config, ConfigError, readConfig } from '../../src/config/config.js';
import { ConfigModule } from '../../src/config/config.module.js';
import { DirectoryDataSource } from '../../src/database/connections/data-source.js';
import { Database } from '../../src/database/database.js';
import { EmbeddedKeys } from '../../src/database/embedded/embedded-keys.js';
import { ServiceUnavailableError } from '../../src/common/errors.js';
import { IdentityProvider } from '../../src/identity-provider/identity-provider.js';

const CLIENTS = [
  {
    client_id: 'reports',
    client_secret: 'hush',
    grant_types: ['client_credentials'],
    scope: 'read',
    owner: 'ADA',
  },
  {
    client_id: 'app',
    token_endpoint_auth_method: 'none',
    redirect_uris: ['http://127.0.0.1/callback'],
    scope: 'read',
  },
];

describe('the embedded identity provider', () => {
  const directory = mkdtempSync(join(tmpdir(), 'identity-provider-'));
  const clientsFile = join(directory, 'clients.json');
  let database: TestDatabase;
  let dataSource: DirectoryDataSource;
  const started: NestFastifyApplication[] = [];

  beforeAll(async () => {
    Logger.overrideLogger(false);
    writeFileSync(clientsFile, JSON.stringify(CLIENTS));
    database = await createDatabase();
    dataSource = new DirectoryDataSource(readConfig({ DATABASE_URL: database.url }).database, []);
    await dataSource.initialize();
    await writeFirstRevision(dataSource);
  });

  afterEach(async () => {
    for (const application of started.splice(0)) await application.close();
    await dataSource.query('delete from entries');
  });

  afterAll(async () => {
    await dataSource.destroy();
    await database.drop();
    rmSync(directory, { recursive: true });
  });

  const addPerson = (id: string) => insertObject(dataSource, 'users', id);

  function parts(config: Config, database: Pick<Database, 'read'>) {
    return {
      imports: [ConfigModule.forRoot(config)],
      providers: [
        EmbeddedIssuer,
        IdentityProvider,
        { provide: Database, useValue: database },
        { provide: EmbeddedKeys, useValue: new EmbeddedKeys(dataSource) },
      ],
    };
  }

  async function freePort(): Promise<number> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    await new Promise((resolve) => server.close(resolve));
    return port;
  }

  /**
   * Starts the service at this path of a free port. Like the whole service, it strips the path from incoming
   * requests.
   */
  async function start(
    path = '',
    database: Pick<Database, 'read'> = new Database(dataSource),
  ): Promise<{ config: Config; jwks: JSONWebKeySet; issuer: string }> {
    const port = await freePort();
    const config = readConfig({
      PORT: String(port),
      BASE_URL: `http://127.0.0.1:${port}${path}`,
      AUTH_AUDIENCE: 'urn:test:audience',
      AUTH_EMBEDDED_CLIENTS: clientsFile,
    });
    const module = await Test.createTestingModule(parts(config, database)).compile();
    const adapter = new FastifyAdapter({ rewriteUrl: ({ url = '' }) => url.slice(path.length) });
    const application = module.createNestApplication<NestFastifyApplication>(adapter);
    started.push(application);
    await application.listen(port, '127.0.0.1');
    const { jwks } = module.get(EmbeddedIssuer);
    if (jwks === null) throw new Error('The provider has published no keys');
    return { config, jwks, issuer: config.baseUrl };
  }

  function postToken(issuer: string): Promise<Response> {
    return fetch(`${issuer}/oauth2/token`, {
      method: 'POST',
      headers: { authorization: `Basic ${Buffer.from('reports:hush').toString('base64')}` },
      body: new URLSearchParams({ grant_type: 'client_credentials', scope: 'read' }),
    });
  }

  async function askToken(issuer: string): Promise<string> {
    const response = await postToken(issuer);
    expect(response.status).toBe(200);
    return ((await response.json()) as { access_token: string }).access_token;
  }

  async function subjectOf(token: string, issuer: string, jwks: JSONWebKeySet): Promise<string | undefined> {
    const { payload } = await jwtVerify(token, createLocalJWKSet(jwks), {
      issuer,
      audience: 'urn:test:audience',
      typ: 'at+jwt',
    });
    return payload.sub;
  }

  it('adds the owner of a client to its token, whether or not the mirror contains the user yet', async () => {
    const { issuer, jwks } = await start();
    expect(await subjectOf(await askToken(issuer), issuer, jwks)).toBe('ADA');
    await addPerson('Ada');
    expect(await subjectOf(await askToken(issuer), issuer, jwks)).toBe('Ada');
  });

  it('has the same keys after a restart', async () => {
    const before = await start();
    const token = await askToken(before.issuer);
    const after = await start();
    expect(after.jwks).toEqual(before.jwks);
    expect(await subjectOf(token, before.issuer, after.jwks)).toBe('ADA');
  });

  it("begins every link with the path of the service, regardless of the request's host", async () => {
    const { issuer, config } = await start('/directory');
    for (const name of ['openid-configuration', 'oauth-authorization-server']) {
      const response = await fetch(`${issuer}/.well-known/${name}`, {
        headers: { 'x-forwarded-host': 'evil' },
      });
      const metadata = (await response.json()) as Record<string, unknown>;
      expect(metadata).toMatchObject({
        issuer,
        token_endpoint: `${issuer}/oauth2/token`,
        authorization_endpoint: `${issuer}/oauth2/authorize`,
        jwks_uri: `${issuer}/oauth2/jwks`,
        introspection_endpoint: `${issuer}/oauth2/introspect`,
        device_authorization_endpoint: `${issuer}/oauth2/device_authorization`,
        scopes_supported: expect.arrayContaining(['profile', 'read', 'directory', 'write']) as string[],
      });
    }
    expect(config.basePath).toBe('/directory');
  });

  it('lets a user sign in below the path of the service', async () => {
    await addPerson('grace');
    const { issuer } = await start('/directory');
    const query = new URLSearchParams({
      client_id: 'app',
      response_type: 'code',
      redirect_uri: 'http://127.0.0.1/callback',
      scope: 'read',
      code_challenge: 'x'.repeat(43),
      code_challenge_method: 'S256',
    });
    const authorize = `${issuer}/oauth2/authorize?${query.toString()}`;
    for (const cookie of (await fetch(authorize, { redirect: 'manual' })).headers.getSetCookie()) {
      expect(cookie).toMatch(/; path=\/directory\/(interaction|oauth2)\b.*; samesite=lax; httponly/);
    }
    const browser = new FormBrowser(issuer);
    const { url } = await browser.open(authorize);
    expect(url).toMatch(new RegExp(`^${issuer}/interaction/`));
    expect((await browser.signIn(url, 'nobody')).response.status).toBe(400);
    const { response } = await browser.signIn(url, 'GRACE');
    expect(response.headers.get('location')).toMatch(/^http:\/\/127\.0\.0\.1\/callback\?code=/);
  });

  it('leaves all other paths to the service', async () => {
    const { issuer } = await start();
    const response = await fetch(`${issuer}/oauth2`);
    expect(response.status).toBe(404);
    expect(await response.json()).toMatchObject({ message: 'Cannot GET /oauth2' });
  });

  it('asks the client to retry while the database is unavailable', async () => {
    const away = { read: () => Promise.reject(new ServiceUnavailableError('The database is away')) };
    const { issuer } = await start('', away);
    const response = await postToken(issuer);
    expect(response.status).toBe(503);
    expect(response.headers.get('retry-after')).toBe('1');
  });

  it('does nothing on the command line, which has no server', async () => {
    @Module({})
    class CommandLine {}
    const config = readConfig({ AUTH_EMBEDDED_CLIENTS: join(directory, 'missing.json') });
    const module = { module: CommandLine, ...parts(config, new Database(dataSource)) };
    const context = await NestFactory.createApplicationContext(module);
    expect(context.get(EmbeddedIssuer).jwks).toBeNull();
    await context.close();
  });

  it('does not start with an invalid clients file', async () => {
    writeFileSync(clientsFile, '[{}]');
    try {
      await expect(start()).rejects.toBeInstanceOf(ConfigError);
    } finally {
      writeFileSync(clientsFile, JSON.stringify(CLIENTS));
    }
  });
});
