import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { configProblems } from './config.js';
import { type Environment, readConfig } from './config.js';

const KEY = 'ab'.repeat(32);

const problemsOf = (environment: Environment) => configProblems(() => readConfig(environment));

describe('a secret in a file', () => {
  let directory: string;
  beforeAll(() => {
    directory = mkdtempSync(join(tmpdir(), 'config-'));
  });
  afterAll(() => {
    rmSync(directory, { recursive: true });
  });

  function write(contents: string): string {
    const file = join(directory, 'secret');
    writeFileSync(file, contents);
    return file;
  }

  it('is read without a trailing line feed', () => {
    expect(readConfig({ URL_SIGNING_KEYS_FILE: write(`${KEY}\n`) }).urlSigningKeys).toEqual([
      Buffer.from(KEY, 'hex'),
    ]);
    const url = 'postgres://directory:secret@db.example.org/directory';
    expect(readConfig({ DATABASE_URL_FILE: write(`${url}\r\n`) }).database).toMatchObject({ url });
  });

  it('is rejected beside the secret itself, and if the file is missing, not a file, or empty', () => {
    expect(problemsOf({ URL_SIGNING_KEYS: KEY, URL_SIGNING_KEYS_FILE: write(KEY) })).toEqual([
      'URL_SIGNING_KEYS and URL_SIGNING_KEYS_FILE are both set: only one can be meant',
    ]);
    for (const file of [join(directory, 'nothing'), directory]) {
      expect(problemsOf({ URL_SIGNING_KEYS_FILE: file })).toEqual([
        `URL_SIGNING_KEYS_FILE names a file that cannot be read: ${file}`,
      ]);
    }
    const empty = write('\n');
    expect(problemsOf({ URL_SIGNING_KEYS_FILE: empty })).toEqual([
      `URL_SIGNING_KEYS_FILE names a file that is empty: ${empty}`,
    ]);
  });

  it('is read only for secret settings', () => {
    expect(readConfig({ PORT_FILE: write('4000') }).port).toBe(3000);
  });
});

describe('production', () => {
  const PRODUCTION = {
    NODE_ENV: 'production',
    DIRECTORY_URL: 'ldaps://ldap.example.org',
    DATABASE_URL: 'postgres://localhost/directory',
    AUTH_URL: 'https://login.example.org',
    URL_SIGNING_KEYS: KEY,
  };

  it('starts without embedded parts', () => {
    expect(readConfig(PRODUCTION).production).toBe(true);
  });

  it.each(['DATABASE_URL', 'AUTH_URL', 'URL_SIGNING_KEYS', 'DIRECTORY_URL'])(
    'rejects a configuration without %s',
    (name) => {
      const problems = problemsOf({ ...PRODUCTION, [name]: '' });
      expect(problems).toEqual([expect.stringMatching(new RegExp(`^${name} .*production refuses`))]);
    },
  );

  it('allows embedded parts if that is set', () => {
    expect(readConfig({ NODE_ENV: 'production', ALLOW_EMBEDDED: 'true' })).toMatchObject({
      production: true,
      allowEmbedded: true,
    });
  });

  it('does not call a misspelled setting embedded', () => {
    expect(problemsOf({ ...PRODUCTION, DATABASE_URL: 'postgres//localhost' })).toEqual([
      'DATABASE_URL must be postgres://user:password@host/database or embedded:directory',
    ]);
  });
});
