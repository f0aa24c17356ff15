import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ConfigError, type Environment, readConfig } from '../config/config.js';
import { BUILT_IN_SCOPES } from '../config/scopes.js';
import { parseClients, readClients, registeredClients } from './clients.js';

const CONFIDENTIAL = { client_id: 'reports', client_secret: 'hush', grant_types: ['client_credentials'] };
const PUBLIC = {
  client_id: 'app',
  token_endpoint_auth_method: 'none',
  redirect_uris: ['https://app.example.org/callback'],
};

function problemsOf(...clients: unknown[]): readonly string[] {
  return problemsBy(() => parseClients(clients, 'file', BUILT_IN_SCOPES));
}

function problemsBy(read: () => unknown): readonly string[] {
  try {
    read();
    return [];
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.problems;
  }
}

describe('the clients file', () => {
  it('gives a client the defaults of RFC 7591', () => {
    const client = { client_id: 'reports', client_secret: 'hush', redirect_uris: ['https://a.example/'] };
    expect(parseClients([client], 'file', BUILT_IN_SCOPES)).toEqual([
      {
        ...client,
        token_endpoint_auth_method: 'client_secret_basic',
        grant_types: ['authorization_code'],
        post_logout_redirect_uris: [],
        scope: '',
        owner: null,
      },
    ]);
  });

  it('reports all mistakes of all clients, one per line', () => {
    expect(
      problemsOf(
        { client_secret: '', grant_types: ['password'] },
        { ...PUBLIC, redirect_uri: 'https://app.example.org/', owner: 7 },
        { ...PUBLIC, redirect_uris: ['/callback'] },
        'demo',
      ),
    ).toEqual([
      expect.stringMatching(/^file: client 1: client_id: /),
      'file: client 1: client_secret: must be 1 to 512 characters of ASCII',
      expect.stringMatching(/^file: client 1: grant_types.0: .*client_credentials/),
      expect.stringMatching(/^file: client 2: owner: /),
      expect.stringMatching(/^file: client 2: .*"redirect_uri"/),
      expect.stringMatching(/^file: client 3: redirect_uris.0: Invalid URL/),
      expect.stringMatching(/^file: client 4: /),
    ]);
    expect(problemsOf({ ...PUBLIC, scope: 'read everything' })).toEqual([
      'file: client 1: scope: must be words out of openid, email, offline_access, profile, read, directory, write, separated by single spaces',
    ]);
  });

  it('requires a secret of a confidential client, and none of a public one, which cannot act for itself', () => {
    const secret = 'must be absent when token_endpoint_auth_method is none, and is required otherwise';
    expect(
      problemsOf(
        { ...CONFIDENTIAL, client_secret: undefined },
        { ...PUBLIC, client_secret: 'x' },
        { client_id: 'a', token_endpoint_auth_method: 'none', grant_types: ['client_credentials'] },
      ),
    ).toEqual([
      `file: client 1: client_secret: ${secret}`,
      `file: client 2: client_secret: ${secret}`,
      'file: client 3: grant_types: must not have client_credentials when token_endpoint_auth_method is none',
    ]);
  });
});

describe('reading the clients file', () => {
  const directory = mkdtempSync(join(tmpdir(), 'clients-'));
  const file = join(directory, 'clients.json');
  afterAll(() => {
    rmSync(directory, { recursive: true });
  });

  const problemsOfFile = (path: string) => problemsBy(() => readClients(path, BUILT_IN_SCOPES));

  it('repeats no content of a file that is not JSON', () => {
    writeFileSync(file, '[\n  { "client_id": "a",\n    "client_secret": "hush" hush }\n]');
    expect(problemsOfFile(file)).toEqual([`${file}: is not JSON`]);
  });
});

describe('the client of the explorer', () => {
  const clientsOf = (environment: Environment) => registeredClients(readConfig(environment));
  const explorerOf = (environment: Environment) =>
    clientsOf(environment).find(({ client_id: id }) => id === 'explorer');

  it('exists without an entry in the file, with the redirect URI of the explorer', () => {
    expect(explorerOf({ BASE_URL: 'https://example.org/school' })).toMatchObject({
      token_endpoint_auth_method: 'none',
      redirect_uris: ['https://example.org/school/explorer/callback'],
      post_logout_redirect_uris: ['https://example.org/school/explorer/callback'],
    });
  });
});
