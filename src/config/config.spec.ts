import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { rootCertificates } from 'node:tls';
import fc from 'fast-check';
import { modelSetting } from '../../test/support/builders/model-file.js';
import { type Environment, configProblems, readConfig } from './config.js';
import { SECRETS, SETTING_NAMES as names } from './settings.js';

const problemsOf = (environment: Environment) => configProblems(() => readConfig(environment));

describe('the setting NODE_ENV', () => {
  it.each(['prod', 'Production', 'PRODUCTION', 'staging', 'live', 'dev'])('rejects %s', (name) => {
    expect(() => readConfig({ NODE_ENV: name })).toThrow('NODE_ENV must be production, development or test');
  });

  it.each([undefined, '', 'development', 'test'])('accepts %s for development', (name) => {
    expect(readConfig({ NODE_ENV: name }).production).toBe(false);
  });
});

describe('the configuration', () => {
  it('needs no settings, and then is embedded and local', () => {
    expect(readConfig({})).toMatchObject({
      production: false,
      baseUrl: 'http://127.0.0.1:3000',
      basePath: '',
      database: { embedded: resolve('.data') },
      auth: { issuer: null, audiences: ['http://127.0.0.1:3000'], introspection: null },
      urlSigningKeys: null,
    });
  });

  it('uses the model of the sample for the sample directory only, unless a setting names another', () => {
    const modelOf = (environment: Environment) => readConfig(environment).modelFile;
    const sample = { DIRECTORY_URL: 'file:sample/directory.ldif' };
    expect([modelOf({}), modelOf(sample)]).toEqual(['sample/model.yaml', 'sample/model.yaml']);
    expect(modelOf({ DIRECTORY_URL: 'file:other.ldif' })).toBeNull();
    expect(modelOf({ DIRECTORY_URL: 'ldap://ldap.example.org' })).toBeNull();
    const own = modelSetting('scopes: {contact: Phone numbers.}');
    expect(modelOf({ ...sample, ...own })).toBe(own.DIRECTORY_MODEL);
  });

  it('takes an empty variable for an unset one', () => {
    expect(readConfig(Object.fromEntries(names.map((name) => [name, ''])))).toEqual(readConfig({}));
  });

  it('takes an empty base of users or groups for the base DN itself', () => {
    const basesOf = (environment: Environment) => {
      const { users, groups } = readConfig(environment).directory.mapping;
      return [users.bases, groups.bases];
    };
    expect(basesOf({})).toEqual([['ou=people,dc=example,dc=org'], ['ou=groups,dc=example,dc=org']]);
    const suffix = { DIRECTORY_BASE_DN: 'o=school' };
    expect(
      basesOf({ ...suffix, ...modelSetting('users: {base: ""}\ngroups: {base: ["", ou=clubs]}') }),
    ).toEqual([['o=school'], ['o=school', 'ou=clubs,o=school']]);
    expect(basesOf({ ...suffix, ...modelSetting('users: {base: " "}') })).toEqual([
      ['o=school'],
      ['ou=groups,o=school'],
    ]);
  });

  it('keeps the path of a base URL, without slashes at the end', () => {
    expect(readConfig({ BASE_URL: 'https://example.org/school/' })).toMatchObject({
      baseUrl: 'https://example.org/school',
      basePath: '/school',
    });
  });

  it('writes an IPv6 address into the base URL as RFC 3986 requires', () => {
    expect(readConfig({ HOST: '::1' }).baseUrl).toBe('http://[::1]:3000');
  });

  it('has an explorer, in production only if it is enabled, with a client if one is known', () => {
    const redirectUri = 'http://127.0.0.1:3000/explorer/callback';
    expect(readConfig({}).explorer).toEqual({ clientId: 'explorer', redirectUri });
    const production = { NODE_ENV: 'production', ALLOW_EMBEDDED: 'true', AUTH_URL: 'https://id.example.org' };
    expect(readConfig(production).explorer).toBeNull();
    expect(readConfig({ ...production, EXPLORER: 'true' }).explorer).toEqual({ clientId: null, redirectUri });
    expect(readConfig({ EXPLORER: 'false' }).explorer).toBeNull();
  });

  it('has a port of metrics in production only if it is set', () => {
    const embedded = { NODE_ENV: 'production', ALLOW_EMBEDDED: 'true' };
    const metricsOf = (environment: Environment) => readConfig(environment).monitoring.metrics;
    expect(metricsOf({})).toEqual({ kind: 'beside' });
    expect(metricsOf(embedded)).toBeNull();
    const apart = { ...embedded, HOST: '0.0.0.0', METRICS_PORT: '9464' };
    expect(metricsOf(apart)).toEqual({ kind: 'apart', host: '0.0.0.0', port: 9464 });
  });

  it('reports all problems at once, one per line', () => {
    const problems = problemsOf({
      PORT: '70000',
      BASE_URL: 'ftp://example.org',
      DATABASE_URL: 'mysql://localhost',
      DIRECTORY_URL: 'sample.ldif',
      DIRECTORY_BASE_DN: 'no DN',
      DIRECTORY_GUARD_PERCENT: '101',
      ALLOW_EMBEDDED: 'perhaps',
      LOG_LEVEL: 'loud',
      URL_SIGNING_KEYS: 'short',
      AUTH_URL: 'https://issuer.example.org',
      AUTH_INTROSPECTION_CLIENT_ID: 'api',
    });
    expect(problems.map((problem) => problem.split(' ')[0])).toEqual([
      'PORT',
      'BASE_URL',
      'ALLOW_EMBEDDED',
      'LOG_LEVEL',
      'DATABASE_URL',
      'DIRECTORY_URL',
      'DIRECTORY_BASE_DN',
      'DIRECTORY_GUARD_PERCENT',
      'URL_SIGNING_KEYS',
      'AUTH_INTROSPECTION_CLIENT_ID',
    ]);
    expect(problems.filter((problem) => problem.includes('\n'))).toEqual([]);
  });

  it.each([
    ['https://pages.example.org', true],
    ['http://localhost:5173,https://pages.example.org', true],
    ['*', false],
    ['null', false],
    ['pages.example.org', false],
    ['https://pages.example.org/', false],
    ['https://pages.example.org:443', false],
    ['https://*.example.org', false],
    ['https://Pages.example.org', false],
  ])('accepts origins as browsers write them: %s', (origins, isGood) => {
    expect(problemsOf({ CORS_ORIGINS: origins })).toHaveLength(isGood ? 0 : 1);
  });

  it.each([
    ['127.0.0.1,10.0.0.0/8, ::1,fd00::/8', true],
    ['proxy.example.org', false],
    ['10.0.0.0/33', false],
    ['::1/129', false],
    ['10.0.0.0/', false],
    ['true', false],
  ])('accepts proxies by address or network: %s', (proxies, isGood) => {
    expect(problemsOf({ TRUSTED_PROXIES: proxies })).toHaveLength(isGood ? 0 : 1);
  });

  it.each([
    ['redis://127.0.0.1', true],
    ['redis://:p%40ss@redis.example.org:6380/2', true],
    ['rediss://user:password@[::1]:6380', true],
    ['http://redis.example.org', false],
    ['redis://', false],
    ['redis://:100%@redis.example.org', false],
    ['redis://redis.example.org/two', false],
  ])('accepts a Redis by its URL: %s', (url, isGood) => {
    expect(problemsOf({ REDIS_URL: url })).toHaveLength(isGood ? 0 : 1);
  });

  it.each([
    ['that cannot be read', null, 'without readable certificates in PEM'],
    ['without one', 'x', 'without readable certificates in PEM'],
    [
      'with a key only',
      '-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----',
      'without readable certificates in PEM',
    ],
    [
      'with a damaged one',
      '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----',
      'without readable certificates in PEM',
    ],
  ])('rejects a file of certificates %s, for each kind of server', (_case, content, reason) => {
    const directory = mkdtempSync(join(tmpdir(), 'config-'));
    const file = join(directory, 'ca.pem');
    if (content !== null) writeFileSync(file, content);
    const urls = { DIRECTORY_URL: 'ldaps://ldap.example.org', REDIS_URL: 'rediss://redis.example.org' };
    const names = ['REDIS_CA_FILE', 'DIRECTORY_CA_FILE', 'AUTH_CA_FILE'];
    const files = Object.fromEntries(names.map((name) => [name, file]));
    const problems = problemsOf({ ...urls, AUTH_URL: 'https://login.example.org', ...files });
    expect(problems).toEqual(
      names.map((name) => expect.stringMatching(`^${name} names a file .*${reason}`) as string),
    );
    rmSync(directory, { recursive: true });
  });

  it.each([
    ['ldaps://ldap.example.org', 'false', true],
    ['ldap://ldap.example.org LDAPS://other.example.org', 'false', true],
    ['ldap://ldap.example.org', 'true', true],
    ['ldap://ldap.example.org ldap://other.example.org', 'false', false],
  ])(
    'accepts certificates for a directory server with TLS only: %s, StartTLS %s',
    (url, startTls, isGood) => {
      const file = join(mkdtempSync(join(tmpdir(), 'config-')), 'ca.pem');
      writeFileSync(file, rootCertificates[0] ?? '');
      const settings = { DIRECTORY_URL: url, DIRECTORY_STARTTLS: startTls, DIRECTORY_CA_FILE: file };
      expect(problemsOf(settings)).toEqual(
        isGood
          ? []
          : [
              'DIRECTORY_CA_FILE and DIRECTORY_CERT_FILE only go with TLS: set DIRECTORY_STARTTLS=true, or a DIRECTORY_URL that begins with ldaps://',
            ],
      );
      rmSync(dirname(file), { recursive: true });
    },
  );

  it('accepts a reader endpoint only beside a database that is not embedded', () => {
    const reader = { DATABASE_READ_URL: 'postgres://standby/directory' };
    expect(problemsOf({ ...reader, DATABASE_URL: 'postgres://primary/directory' })).toEqual([]);
    expect(problemsOf(reader)).toEqual([expect.stringMatching(/^DATABASE_READ_URL only goes with/)]);
  });

  it.each([
    ['postgres://reader@standby.example.org/directory', true],
    ['standby.example.org', false],
    ['embedded:.data/standby', false],
  ])('accepts a reader endpoint by its URL: %s', (url, isGood) => {
    const environment = { DATABASE_URL: 'postgres://127.0.0.1/directory', DATABASE_READ_URL: url };
    expect(problemsOf(environment)).toHaveLength(isGood ? 0 : 1);
  });

  it('has a prefix per installation on a shared Redis, which is the same for all replicas', () => {
    const prefixOf = (environment: Environment) =>
      readConfig({ REDIS_URL: 'redis://127.0.0.1', ...environment }).redis?.prefix;
    expect(prefixOf({ PORT: '4000' })).toBe('directory');
    expect(prefixOf({ BASE_URL: 'https://example.org/school/' })).toBe('directory:example.org/school');
    expect(readConfig({}).redis).toBeNull();
  });

  it('discloses the schema outside of production, and if it is enabled', () => {
    const disclosed = (environment: Environment) => readConfig(environment).disclosure.introspection;
    const production = { NODE_ENV: 'production', ALLOW_EMBEDDED: 'true' };
    expect([disclosed({}), disclosed(production)]).toEqual([true, false]);
    const set = (GRAPHQL_INTROSPECTION: string) => ({ GRAPHQL_INTROSPECTION });
    expect([disclosed(set('false')), disclosed({ ...production, ...set('true') })]).toEqual([false, true]);
  });

  it.each([
    ['DIRECTORY_BASEDN', 'DIRECTORY_BASE_DN'],
    ['DIRECTORY_START_TLS', 'DIRECTORY_STARTTLS'],
    ['DIRECTORY_BIND_PASWORD_FILE', 'DIRECTORY_BIND_PASSWORD_FILE'],
  ])('rejects %s, which is not a setting, and suggests %s', (name, meant) => {
    expect(problemsOf({ [name]: 'x' })).toEqual([
      expect.stringMatching(`^${name} is not a setting\\. Did you mean ${meant}\\?$`),
    ]);
  });

  it('accepts variables of other software', () => {
    const others = {
      NODE_ENVS: 'x',
      REDIS_PORT: 'tcp://10.0.0.1:6379',
      DIRECTORY_SERVICE_HOST: '10.0.0.1',
      DIRECTORY_PORT_3000_TCP_ADDR: '10.0.0.1',
      DIRECTORY_BASEDN: '',
    };
    expect(problemsOf(others)).toEqual([]);
  });

  it('repeats no secret value', () => {
    const secrets = names.filter((name) => SECRETS.has(name));
    const environment = Object.fromEntries(secrets.map((name) => [name, 'hunter2']));
    expect(problemsOf(environment).join('\n')).not.toContain('hunter2');
  });

  it('accepts any text with a configuration or with problems', () => {
    const environments = fc.dictionary(fc.constantFrom(...names), fc.string({ unit: 'binary' }));
    fc.assert(
      fc.property(environments, (environment) => {
        for (const problem of problemsOf(environment)) expect(problem).toMatch(/^[A-Z_]+ /);
      }),
      { numRuns: 300 },
    );
  });
});
