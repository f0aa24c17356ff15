/** @isolated The suite changes the environment. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadEnvironmentFile } from './environment-file.js';

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
