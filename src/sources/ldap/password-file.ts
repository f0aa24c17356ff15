import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import type { LdapSourceConfig } from '../../config/settings/directory.js';

type Password = Pick<LdapSourceConfig, 'bind' | 'passwordFile'>;

/** Milliseconds between two readings of the file. */
const INTERVAL = 1000;

/** The password of the account. Its file may have been replaced since the start. */
export async function readPassword({ bind, passwordFile }: Password): Promise<string | undefined> {
  if (passwordFile === null || bind === null) return bind?.password;
  const text = await readFile(passwordFile, 'utf8').catch(() => '');
  const password = text.replace(/\r?\n$/, '');
  return password === '' ? bind.password : password;
}

/** Waits until the password differs from a rejected one, or the time is over, in milliseconds. */
export async function waitForPassword(
  source: Password,
  rejected: string | undefined,
  longest: number,
  signal: AbortSignal,
): Promise<void> {
  const end = performance.now() + longest;
  while (!signal.aborted && performance.now() < end && (await readPassword(source)) === rejected)
    await sleep(INTERVAL, undefined, { signal }).catch(() => undefined);
}
