/** @isolated The suite changes the environment. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findTooLate, loadEnvironmentFile } from './environment-file.js';

describe('a variable of Node.js in .env', () => {
  const directory = mkdtempSync(join(tmpdir(), 'environment-'));
  const forget = (names: readonly string[]) => {
    for (const name of names) Reflect.deleteProperty(process.env, name);
  };

  beforeAll(() => {
    process.env['ENV_FILE'] = join(directory, 'settings');
  });

  afterAll(() => {
    forget(['ENV_FILE']);
    rmSync(directory, { recursive: true });
  });

  function warningsOf(text: string): string[] {
    writeFileSync(join(directory, 'settings'), text);
    loadEnvironmentFile();
    const found = findTooLate();
    forget([...text.matchAll(/^\w+/gm)].map(([name]) => name));
    return found;
  }

  // A machine can have the others of these in its environment, which takes precedence.
  it.each(['NODE_USE_SYSTEM_CA'])('causes a warning that names the settings for it: %s', (name) => {
    forget([name]);
    expect(warningsOf(`${name}=/etc/ssl/own.pem\n`)).toEqual([
      `${name} in .env has no effect: Node.js reads it before it reads this file. Set it in the environment of the service, or AUTH_CA_FILE, DIRECTORY_CA_FILE or REDIS_CA_FILE here`,
    ]);
  });

  it.each(['NODE_OPTIONS', 'UV_THREADPOOL_SIZE', 'OPENSSL_CONF', 'LD_PRELOAD'])(
    'causes a warning: %s',
    (name) => {
      forget([name]);
      expect(warningsOf(`${name}=x\n`)).toEqual([expect.stringMatching(`^${name} in .env has no effect: `)]);
    },
  );

  it('causes none if the environment has it, too, if it is empty, or if it has an effect', () => {
    process.env['UV_THREADPOOL_SIZE'] = '8';
    forget(['NODE_OPTIONS']);
    expect(warningsOf('UV_THREADPOOL_SIZE=16\nNODE_OPTIONS=\nPORT_OF_TEST=3000\n')).toEqual([]);
  });
});

describe('the file of settings', () => {
  const directory = mkdtempSync(join(tmpdir(), 'environment-'));
  const load = (text: string) => {
    writeFileSync(join(directory, 'settings'), text);
    loadEnvironmentFile();
  };

  beforeAll(() => {
    process.env['ENV_FILE'] = join(directory, 'settings');
  });

  afterAll(() => {
    load('');
    Reflect.deleteProperty(process.env, 'ENV_FILE');
    rmSync(directory, { recursive: true });
  });

  it.each([
    ['DATABASE_URL', 'embedded:.data', `embedded:${directory}/.data`],
    ['DATABASE_URL', 'embedded:/data', 'embedded:/data'],
    [
      'DATABASE_URL',
      'postgres://a@b/c?sslrootcert=ca.pem&x=y',
      `postgres://a@b/c?sslrootcert=${directory}/ca.pem&x=y`,
    ],
    ['DIRECTORY_URL', 'file:people.ldif', `file:${directory}/people.ldif`],
    ['DIRECTORY_URL', 'ldap://a.example', 'ldap://a.example'],
    ['DIRECTORY_MODEL', '../model.yaml', join(directory, '../model.yaml')],
    ['REDIS_URL_FILE', 'secrets/redis', `${directory}/secrets/redis`],
    ['REDIS_CA_FILE', '', ''],
    ['OTEL_SERVICE_NAME', 'people', 'people'],
  ])('has paths that are relative to its directory: %s=%s', (name, value, absolute) => {
    load(`${name}=${value}\n`);
    expect(process.env[name]).toBe(absolute);
  });

  it('is read again: other values replace it, and removed ones are absent', () => {
    process.env['TEST_OF_PROCESS'] = 'a';
    load('TEST_OF_PROCESS=b\nTEST_ONE=1\nTEST_TWO=2\n');
    load('TEST_OF_PROCESS=c\nTEST_ONE=3\n');
    const { TEST_OF_PROCESS: own, TEST_ONE: one, TEST_TWO: two } = process.env;
    expect([own, one, two]).toEqual(['a', '3', undefined]);
  });
});
