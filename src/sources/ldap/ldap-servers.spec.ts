import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readPassword, waitForPassword } from './ldap-servers.js';

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
