import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ConfigError, type Environment, readConfig } from '../config/config.js';
import { BUILT_IN_SCOPES } from '../config/scopes.js';
import {
  type Client,
  clientMetadata,
  explorerClient,
  parseClients,
  readClients,
  registeredClients,
} from './clients.js';

const CONFIDENTIAL = { client_id: 'reports', client_secret: 'hush', grant_types: ['client_credentials'] };
const PUBLIC = {
  client_id: 'app',
  token_endpoint_auth_method: 'none',
  redirect_uris: ['https://app.example.org/callback'],
};

function parse(content: unknown): { clients: Client[]; problems: string[] } {
  const problems: string[] = [];
  const clients = parseClients(JSON.stringify(content), problems);
  return { clients, problems };
}

const problemsOf = (...clients: unknown[]) => parse(clients).problems;

describe('the clients file', () => {
  it('gives a client the defaults of RFC 7591', () => {
    expect(
      parse([{ ...CONFIDENTIAL, grant_types: undefined, redirect_uris: ['https://a.example/'] }]),
    ).toEqual({
      problems: [],
      clients: [
        {
          client_id: 'reports',
          client_secret: 'hush',
          token_endpoint_auth_method: 'client_secret_basic',
          grant_types: ['authorization_code'],
          redirect_uris: ['https://a.example/'],
          post_logout_redirect_uris: [],
          scope: '',
          owner: null,
        },
      ],
    });
  });

  it('accepts a client of every kind', () => {
    const device = 'urn:ietf:params:oauth:grant-type:device_code';
    expect(
      problemsOf(
        { ...CONFIDENTIAL, scope: 'profile read write', owner: 'ada' },
        { ...PUBLIC, client_name: 'An app', grant_types: ['authorization_code', device, 'refresh_token'] },
        { client_id: 'introspects', client_secret: 'x', grant_types: [], owner: null },
      ),
    ).toEqual([]);
  });

  it('reports all mistakes of all clients, one per line', () => {
    expect(
      problemsOf(
        { client_secret: '', scope: 'read everything', grant_types: ['password'] },
        { ...PUBLIC, redirect_uri: 'https://app.example.org/', owner: 7 },
        'demo',
      ),
    ).toEqual([
      'client 1: client_id must be 1 to 512 characters of ASCII',
      'client 1: client_secret must be 1 to 512 characters of ASCII',
      'client 1: grant_types must be an array of authorization_code, client_credentials, refresh_token or urn:ietf:params:oauth:grant-type:device_code',
      'client 1: scope must be words out of openid, email, offline_access, profile, read, directory, write, separated by single spaces',
      'client 2 (app): owner must be the id of a person, or null',
      'client 2 (app): "redirect_uri" is not a member of a client',
      'client 3: must be an object',
    ]);
  });

  it('reports a duplicate client id', () => {
    expect(problemsOf(PUBLIC, CONFIDENTIAL, PUBLIC)).toEqual([
      'client 3 (app): client_id is that of client 1 already',
    ]);
  });

  it('requires a secret of a confidential client, and none of a public one', () => {
    expect(
      problemsOf({ ...CONFIDENTIAL, client_secret: undefined }, { ...PUBLIC, client_secret: 'x' }),
    ).toEqual([
      'client 1 (reports): client_secret is missing, and token_endpoint_auth_method is client_secret_basic',
      'client 2 (app): client_secret must be absent when token_endpoint_auth_method is none',
    ]);
  });

  it('rejects grants that the client cannot use', () => {
    expect(
      problemsOf(
        { client_id: 'a', token_endpoint_auth_method: 'none', grant_types: ['client_credentials'] },
        { ...CONFIDENTIAL, client_id: 'b', grant_types: ['client_credentials', 'refresh_token'] },
        { ...PUBLIC, client_id: 'c', redirect_uris: [] },
        { ...CONFIDENTIAL, client_id: 'd', redirect_uris: PUBLIC.redirect_uris },
      ),
    ).toEqual([
      'client 1 (a): grant_types must not have client_credentials when token_endpoint_auth_method is none',
      'client 2 (b): grant_types must have authorization_code or urn:ietf:params:oauth:grant-type:device_code beside refresh_token',
      'client 3 (c): redirect_uris must not be empty when grant_types has authorization_code',
      'client 4 (d): redirect_uris must be empty when grant_types has no authorization_code',
    ]);
  });

  it.each([
    ['/callback', 'must have absolute URLs'],
    ['https://app.example.org/#top', 'must have URLs without a fragment'],
    ['http://app.example.org/', 'must use https, or http to 127.0.0.1, [::1] or localhost'],
    ['javascript:alert(1)', 'must use https, http or a scheme with a dot in it'],
  ])('rejects the redirect URI %s', (uri, problem) => {
    expect(problemsOf({ ...PUBLIC, redirect_uris: [uri] })).toEqual([
      expect.stringContaining(`client 1 (app): redirect_uris ${problem}`),
    ]);
    expect(problemsOf({ ...PUBLIC, post_logout_redirect_uris: [uri] })).toEqual([
      expect.stringContaining(`client 1 (app): post_logout_redirect_uris ${problem}`),
    ]);
  });

  it.each([
    'http://127.0.0.1/callback',
    'http://[::1]:8080/',
    'https://localhost/',
    'org.example.app:/callback',
  ])('accepts the redirect URI %s', (uri) => {
    expect(problemsOf({ ...PUBLIC, redirect_uris: [uri] })).toEqual([]);
  });

  it('must be an array', () => {
    expect(parse({ clients: [] }).problems).toEqual(['must be an array of clients']);
  });
});

describe('the clients of the sample', () => {
  const scopesOf = (environment: Environment) =>
    registeredClients(readConfig(environment)).map(({ client_id: id, scope }) => [id, scope]);

  it('may request the scopes of the model if they sign users in', () => {
    const read = 'profile read write';
    expect(scopesOf({})).toEqual([
      ['demo-basic', read],
      ['demo-post', read],
      ['demo-app', 'openid profile email read directory write offline_access contact confidential'],
    ]);
    expect(scopesOf({ DIRECTORY_URL: 'file:other.ldif' }).at(-1)).toEqual([
      'demo-app',
      'openid profile email read directory write offline_access',
    ]);
  });

  it('are those of the file, if it is another one', () => {
    const file = join(mkdtempSync(join(tmpdir(), 'clients-')), 'clients.json');
    writeFileSync(
      file,
      JSON.stringify([
        { ...PUBLIC, scope: 'read contact' },
        { ...PUBLIC, client_id: 'b' },
      ]),
    );
    expect(scopesOf({ AUTH_EMBEDDED_CLIENTS: file })).toEqual([
      ['app', 'read contact'],
      ['b', ''],
    ]);
  });
});

describe('reading the clients file', () => {
  const directory = mkdtempSync(join(tmpdir(), 'clients-'));
  const file = join(directory, 'clients.json');
  afterAll(() => {
    rmSync(directory, { recursive: true });
  });

  function problemsOfFile(path: string): readonly string[] {
    try {
      readClients(path, BUILT_IN_SCOPES);
      return [];
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      return error.problems;
    }
  }

  it('names the file in every line', () => {
    writeFileSync(file, JSON.stringify([{ ...PUBLIC, scope: 'all' }, {}]));
    expect(problemsOfFile(file)).toEqual([
      expect.stringMatching(/clients\.json: client 1 \(app\): scope must be/),
      expect.stringMatching(/clients\.json: client 2: client_id must be/),
      expect.stringMatching(/clients\.json: client 2: client_secret is missing/),
      expect.stringMatching(/clients\.json: client 2: redirect_uris must not be empty/),
    ]);
  });

  it('repeats no content of a file that is not JSON', () => {
    writeFileSync(file, '[\n  { "client_id": "a",\n    "client_secret": "hush" hush }\n]');
    expect(problemsOfFile(file)).toEqual([`${file}: is not JSON (line 3)`]);
  });

  it('reports an unreadable file', () => {
    const missing = join(directory, 'missing.json');
    expect(problemsOfFile(missing)).toEqual([`${missing}: cannot be read (ENOENT)`]);
  });
});

describe('the client of the explorer', () => {
  it('exists without an entry in the file, with the redirect URI of the explorer', () => {
    const client = explorerClient(readConfig({ BASE_URL: 'https://example.org/school' }), []);
    expect(client).toMatchObject({
      client_id: 'explorer',
      token_endpoint_auth_method: 'none',
      redirect_uris: ['https://example.org/school/explorer/callback'],
      post_logout_redirect_uris: ['https://example.org/school/explorer/callback'],
    });
  });

  it('is that of the file if the file has its id, and does not exist without an explorer', () => {
    const { clients } = parse([{ ...PUBLIC, client_id: 'own' }]);
    expect(explorerClient(readConfig({ EXPLORER_CLIENT_ID: 'own' }), clients)).toBeNull();
    expect(explorerClient(readConfig({ EXPLORER: 'false' }), [])).toBeNull();
  });

  it('may use plain HTTP within a network, unlike a native application', () => {
    const client = explorerClient(readConfig({ BASE_URL: 'http://directory.lan:3000' }), []);
    expect(client === null ? null : clientMetadata(client)).toMatchObject({ application_type: 'web' });
  });
});
