import { setTimeout as sleep } from 'node:timers/promises';
import type { LdapConnection, WaitOptions } from '../client/ldap-connection.js';
import { LdapResultError } from '../client/ldap-error.js';
import { readOne, textOf } from '../client/read-one.js';

/** The state of a database according to its contextCSN. */
export interface Context {
  /** One CSN for each server that accepts writes, sorted. */
  readonly csns: readonly string[];
  /** Whether entries exist that are newer than the CSNs. If true, the CSNs do not describe the content. */
  readonly isBehind: boolean;
}

/** On a busy server, the contextCSN follows the write of an entry with a short delay. */
const MOMENT_MILLISECONDS = 100;

/**
 * The contextCSN of a database. OpenLDAP stores it only at intervals (`syncprov-checkpoint`), and after a
 * crash continues from an old value. Until the next change, content synchronization then omits every newer
 * entry, as if it had been deleted.
 *
 * @returns null when the server has no contextCSN, or hides it
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

/** The CSN of any newer entry; null when there is none, or the server does not permit the search. */
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
 * The CSNs of the entries that are newer; none when the server does not permit the search. The order of CSNs
 * is the order of their text.
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
