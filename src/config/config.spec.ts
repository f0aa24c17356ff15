import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { rootCertificates } from 'node:tls';
import fc from 'fast-check';
import { modelSetting } from '../../test/support/builders/model-file.js';
import { type Environment, configProblems, readConfig } from './config.js';
import { SECRETS, SETTING_NAMES as names } from './settings.js';

const KEY = 'ab'.repeat(32);

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
    expect(problemsOf({ METRICS_PORT: '3000' })).toEqual([expect.stringContaining('METRICS_PORT and PORT')]);
  });

  it('has tracing if a collector is set', () => {
    const OTEL_EXPORTER_OTLP_ENDPOINT = 'http://127.0.0.1:4318';
    const tracesOf = (environment: Environment) => readConfig(environment).monitoring.traces;
    expect(tracesOf({})).toBeNull();
    expect(tracesOf({ OTEL_EXPORTER_OTLP_ENDPOINT })).toEqual({ serviceName: 'directory-service' });
    expect(tracesOf({ OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_SERVICE_NAME: 'x' })).toEqual({ serviceName: 'x' });
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

  it.each<[name: string, good: string[], bad: string[]]>([
    [
      'CORS_ORIGINS',
      ['https://pages.example.org', 'http://localhost:5173,https://pages.example.org'],
      [
        ...['*', 'null', 'pages.example.org', 'https://pages.example.org/', 'https://pages.example.org:443'],
        ...['https://*.example.org', 'https://Pages.example.org'],
      ],
    ],
    [
      'TRUSTED_PROXIES',
      ['127.0.0.1,10.0.0.0/8, ::1,fd00::/8'],
      ['proxy.example.org', '10.0.0.0/33', '::1/129', '10.0.0.0/', 'true'],
    ],
    [
      'REDIS_URL',
      ['redis://127.0.0.1', 'redis://:p%40ss@redis.example.org:6380/2', 'rediss://user:password@[::1]:6380'],
      ['http://a.example', 'redis://', 'redis://:100%@redis.example.org', 'redis://redis.example.org/two'],
    ],
    [
      'DATABASE_READ_URL',
      ['postgres://reader@standby.example.org/directory'],
      ['standby.example.org', 'embedded:.data/standby'],
    ],
  ])('accepts only values of a form: %s', (name, good, bad) => {
    const problems = (value: string) =>
      problemsOf({ DATABASE_URL: 'postgres://127.0.0.1/directory', [name]: value });
    expect(good.flatMap(problems)).toEqual([]);
    for (const value of bad)
      expect([value, problems(value)]).toEqual([value, [expect.stringMatching(`^${name} `)]]);
  });

  it.each([
    ['that cannot be read', null, 'cannot be read'],
    ['without one', 'x', 'without certificates in PEM'],
    [
      'with a key only',
      '-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----',
      'without certificates',
    ],
    ['with a damaged one', '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----', 'damaged'],
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

  it.each<[name: string, good: Environment[], bad: Environment[]]>([
    ['REDIS_CA_FILE', [{ REDIS_URL: 'rediss://a.example' }], [{ REDIS_URL: 'redis://a.example' }]],
    ['AUTH_CA_FILE', [{ AUTH_URL: 'https://a.example' }], [{ AUTH_URL: 'http://a.example' }, {}]],
    [
      'DIRECTORY_CA_FILE',
      [
        { DIRECTORY_URL: 'ldap://a.example LDAPS://b.example' },
        { DIRECTORY_URL: 'ldap://a.example', DIRECTORY_STARTTLS: 'true' },
      ],
      [{ DIRECTORY_URL: 'ldap://a.example ldap://b.example' }],
    ],
  ])('accepts certificates for servers with TLS only: %s', (name, good, bad) => {
    const file = join(mkdtempSync(join(tmpdir(), 'config-')), 'ca.pem');
    writeFileSync(file, rootCertificates.slice(0, 2).join('\n'));
    const problems = (settings: Environment) => problemsOf({ [name]: file, ...settings });
    expect(good.flatMap(problems)).toEqual([]);
    for (const settings of bad)
      expect(problems(settings)).toEqual([expect.stringMatching(`^${name} only goes with `)]);
    rmSync(dirname(file), { recursive: true });
  });

  it('keeps changes for longer than deliveries to webhooks are repeated', () => {
    const file = join(mkdtempSync(join(tmpdir(), 'config-')), 'webhooks.yaml');
    writeFileSync(file, 'targets: []\n');
    const problems = (days: string) =>
      problemsOf({ DIRECTORY_WEBHOOKS: file, DIRECTORY_CHANGES_DAYS: days }).filter((each) =>
        each.startsWith('DIRECTORY_CHANGES_DAYS'),
      );
    expect(problems('4')).toEqual([]);
    expect(problems('3')).toEqual([
      'DIRECTORY_CHANGES_DAYS must be at least 4 with DIRECTORY_WEBHOOKS: a failed delivery is repeated for three days',
    ]);
    expect(problemsOf({ DIRECTORY_CHANGES_DAYS: '1' })).toEqual([]);
    rmSync(dirname(file), { recursive: true });
  });

  it.each([
    ['AUTH_INTROSPECTION_URL', { AUTH_INTROSPECTION_URL: 'https://issuer.example.org/introspect' }],
    ['AUTH_INTROSPECTION_NO_AUDIENCE', { AUTH_INTROSPECTION_NO_AUDIENCE: 'true' }],
    [
      'AUTH_INTROSPECTION_CLIENT_ID and AUTH_INTROSPECTION_CLIENT_SECRET',
      { AUTH_INTROSPECTION_CLIENT_ID: 'api', AUTH_INTROSPECTION_CLIENT_SECRET: 'secret' },
    ],
  ])('accepts %s for an external issuer only', (names, settings) => {
    expect(problemsOf({ ...settings, AUTH_URL: 'https://issuer.example.org' })).toEqual([]);
    expect(problemsOf(settings)).toEqual([`${names} only goes with AUTH_URL`]);
  });

  it('rejects a reader endpoint of an embedded database', () => {
    expect(problemsOf({ DATABASE_READ_URL: 'postgres://127.0.0.1/directory' })).toEqual([
      expect.stringMatching(/^DATABASE_READ_URL .* an embedded database has no standby$/),
    ]);
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
      expect.stringMatching(
        `^${name} is not a setting: did you mean ${meant}\\? The settings are DIRECTORY_… with URL, STARTTLS, `,
      ),
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

  it('is deeply frozen', () => {
    const config = readConfig({ URL_SIGNING_KEYS: KEY });
    const thaw = (value: unknown): unknown[] =>
      typeof value !== 'object' || value === null || ArrayBuffer.isView(value)
        ? []
        : [...(Object.isFrozen(value) ? [] : [value]), ...Object.values(value).flatMap(thaw)];
    expect(thaw(config)).toEqual([]);
  });
});
