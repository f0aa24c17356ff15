import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readConfig } from '../../config/config.js';
import { passwordRisk, readPassword, waitForPassword } from './ldap-servers.js';

describe('a rejected password', () => {
  let directory: string;

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'password-'));
  });

  afterAll(() => rm(directory, { recursive: true }));

  it('is waited for until its file changes', async () => {
    const passwordFile = join(directory, 'password');
    await writeFile(passwordFile, 'wrong\n');
    const source = { bind: { dn: 'cn=mirror', password: 'of the start' }, passwordFile };
    expect(await readPassword(source)).toBe('wrong');
    let isOver = false;
    const { signal } = new AbortController();
    const waiting = waitForPassword(source, 'wrong', 600_000, signal).then(() => {
      isOver = true;
    });
    await waitForPassword(source, 'wrong', 1, signal);
    expect(isOver).toBe(false);
    await writeFile(passwordFile, 'right\n');
    await waiting;
    expect(await readPassword(source)).toBe('right');
  });

  it('is not waited for after an abort', async () => {
    const source = { bind: { dn: 'cn=mirror', password: 'wrong' }, passwordFile: null };
    await waitForPassword(source, 'wrong', 600_000, AbortSignal.timeout(1));
    expect(await readPassword(source)).toBe('wrong');
  });
});

function riskOf(url: string, more: Record<string, string> = {}): string | null {
  const { source } = readConfig({
    DIRECTORY_URL: url,
    DIRECTORY_BIND_DN: 'cn=mirror',
    DIRECTORY_BIND_PASSWORD: 'secret',
    ...more,
  }).directory;
  if (source.kind === 'file') throw new Error('It is a file');
  return passwordRisk(source);
}

describe('the password of the account', () => {
  it.each([
    'ldap://directory.example.org',
    'ldap://10.0.0.1',
    'ldap://[2001:db8::1]',
    'ldap://localhost.example.org',
  ])('can be read on its way to %s, without repeating it', (url) => {
    expect(riskOf(url)).toMatch(/^The password of cn=mirror crosses the network to \S+ unencrypted: /);
    expect(riskOf(url)).not.toContain('secret');
  });

  it.each(['ldap://localhost', 'ldap://127.0.0.53', 'ldap://[::1]', 'ldaps://directory.example.org'])(
    'is encrypted on its way to %s',
    (url) => {
      expect(riskOf(url)).toBeNull();
    },
  );

  it('is encrypted with StartTLS, and needs no encryption if there is none', () => {
    expect(riskOf('ldap://directory.example.org', { DIRECTORY_STARTTLS: 'true' })).toBeNull();
    const anonymous = { DIRECTORY_BIND_DN: '', DIRECTORY_BIND_PASSWORD: '' };
    expect(riskOf('ldap://directory.example.org', anonymous)).toBeNull();
  });
});
