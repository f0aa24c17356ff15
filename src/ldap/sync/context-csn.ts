import { setTimeout as sleep } from 'node:timers/promises';
import type { LdapConnection, WaitOptions } from '../client/ldap-connection.js';
import { LdapResultError } from '../client/ldap-error.js';
import { readOne, textOf } from '../client/read-one.js';

/** How far a database has come, by its own account. */
export interface Context {
  /** One for each server that writes, sorted. */
  readonly csns: readonly string[];
  /** There are entries that are newer: nothing can be concluded from the values. */
  readonly isBehind: boolean;
}

/** Between an entry and what is told of it there is a moment in a busy server. */
const MOMENT_MILLISECONDS = 100;

/**
 * The contextCSN of a database. OpenLDAP writes it down every now and then only (`syncprov-checkpoint`), and after
 * a crash goes on from an old one: until the next change, content synchronisation then leaves out every entry that is
 * newer, as if it had been deleted.
 *
 * @returns null when the server has none, or does not show it
 * @throws {LdapError} and the signal's reason
 */
export async function readContext(
  connection: LdapConnection,
  suffix: string,
  options: WaitOptions = {},
): Promise<Context | null> {
  const read = async () =>
    textOf(await readOne(connection, suffix, ['contextCSN'], options), 'contextCSN').sort();
  const before = await read();
  const last = before.at(-1);
  if (last === undefined) return null;
  const newer = await findNewer(connection, suffix, last, options);
  if (newer === null) return { csns: before, isBehind: false };
  await sleep(MOMENT_MILLISECONDS, undefined, { signal: options.signal });
  const csns = await read();
  return { csns, isBehind: (csns.at(-1) ?? '') < newer };
}

/** The CSN of some entry that is newer; null when there is none, or the server does not let us look. */
async function findNewer(
  connection: LdapConnection,
  suffix: string,
  csn: string,
  options: WaitOptions,
): Promise<string | null> {
  for await (const newer of readNewerCsns(connection, suffix, csn, options)) return newer;
  return null;
}

/**
 * The CSNs of the entries that are newer; none when the server does not let us look. CSNs are ordered as their text is.
 * @throws {LdapError} and the signal's reason
 */
export async function* readNewerCsns(
  connection: LdapConnection,
  suffix: string,
  csn: string,
  options: WaitOptions = {},
): AsyncGenerator<string> {
  const filter = { kind: 'greaterOrEqual', attribute: 'entryCSN', value: Buffer.from(csn) } as const;
  const request = { base: suffix, scope: 'sub', filter, attributes: ['entryCSN'] } as const;
  try {
    for await (const message of connection.search(request, options)) {
      const [found = ''] = message.kind === 'entry' ? textOf(message.entry, 'entryCSN') : [];
      if (found > csn) yield found;
    }
  } catch (error) {
    if (!(error instanceof LdapResultError)) throw error;
  }
}
