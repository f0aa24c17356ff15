import { randomBytes } from 'node:crypto';
import { readConfig } from '../../src/config/config.js';
import { NestLog } from '../../src/monitoring/log.js';
import { Canaries } from '../support/builders/canaries.js';
import { runCommand } from '../support/clients/command.js';
import { findFreePort } from '../support/servers/postgres.mjs';

const SIGNING_KEY = randomBytes(32).toString('hex');

const canaries = new Canaries();
canaries.add('signing key', SIGNING_KEY);

const secret = canaries.add('password in a setting', 'canary-of-a-setting');

describe('the output of a process that fails to start', () => {
  it.each([
    ['DATABASE_URL', `postgres://directory:${secret}@127.0.0.1:1/nothing`],
    ['DATABASE_URL', `postgres://directory:${secret}@[/nothing`],
    ['DATABASE_URL', `mysql://directory:${secret}@localhost/x`],
    ['DATABASE_READ_URL', `postgres://directory:${secret}@[/nothing`],
    ['REDIS_URL', `redis://:${secret}@[`],
    ['REDIS_URL', `http://:${secret}@localhost`],
    ['DIRECTORY_URL', `ldap://cn=admin:${secret}@localhost`],
    ['URL_SIGNING_KEYS', secret],
    ['AUTH_URL', `https://client:${secret}@issuer.example`],
    ['BASE_URL', `https://client:${secret}@directory.example`],
    ['AUTH_INTROSPECTION_CLIENT_SECRET', secret],
    ['CORS_ORIGINS', `https://client:${secret}@pages.example`],
    ['TRUSTED_PROXIES', secret],
    ['LOG_LEVEL', secret],
    ['LIMIT_DEPTH', secret],
  ])('contains no secret of %s: %s', async (name, value) => {
    const environment = { DATABASE_URL: 'embedded:/dev/null/nothing', [name]: value };
    const { code, stdout, stderr } = await runCommand(['service-account', 'list'], environment);
    expect(code).not.toBe(0);
    expect(stdout + stderr).not.toBe('');
    expect(canaries.foundIn(stdout + stderr)).toEqual([]);
  });

  it('contains none with full inspection of errors', async () => {
    const { stdout, stderr } = await runCommand(['check'], {
      PORT: String(await findFreePort()),
      DATABASE_URL: `postgres://directory:${secret}@127.0.0.1:1/nothing`,
      DATABASE_READ_URL: `postgres://directory:${secret}@127.0.0.1:1/nothing`,
      REDIS_URL: `redis://:${secret}@127.0.0.1:1`,
      DIRECTORY_URL: 'ldap://127.0.0.1:1',
      DIRECTORY_BIND_DN: 'cn=mirror',
      DIRECTORY_BIND_PASSWORD: secret,
      AUTH_URL: 'http://127.0.0.1:1',
      AUTH_INTROSPECTION_CLIENT_ID: 'client',
      AUTH_INTROSPECTION_CLIENT_SECRET: secret,
      URL_SIGNING_KEYS: SIGNING_KEY,
    });
    expect(stdout).toContain('REDIS_URL');
    expect(canaries.foundIn(stdout + stderr)).toEqual([]);
  });
});

const LEVELS = ['fatal', 'error', 'warn', 'log', 'debug', 'verbose'] as const;

describe.each(['json', 'text'] as const)('a log in the format %s', (logFormat) => {
  it.each(LEVELS)('contains the location of an error, but not its properties: %s', (level) => {
    const written: string[] = [];
    const fault = Object.assign(new Error('The program is at fault'), {
      parameters: [secret],
      query: 'select',
    });
    const config = readConfig({ LOG_LEVEL: 'verbose', LOG_FORMAT: logFormat });
    NestLog.of(config, { write: (line) => written.push(line) })[level](fault, 'Somewhere');
    expect(written.join('').replaceAll('\\n', '\n')).toMatch(/The program is at fault\n +at .*canary-start/);
    expect(canaries.foundIn(written.join(''))).toEqual([]);
  });
});
