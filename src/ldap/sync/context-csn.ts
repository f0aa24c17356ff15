import { setTimeout as sleep } from 'node:timers/promises';
import type { LdapConnection, WaitOptions } from '../client/ldap-connection.js';
import { LdapResultError } from '../client/ldap-error.js';
import { readOne } from '../client/read-one.js';

/** The state of a database according to its contextCSN. */
interface Context {
  /** One CSN for each server that accepts writes, sorted. */
  readonly csns: readonly string[];
  /** Whether entries exist that are newer than the CSNs. If true, the CSNs do not describe the content. */
  readonly isBehind: boolean;
}

/** On a busy server, the contextCSN follows the write of an entry with a short delay. */
const MOMENT_MILLISECONDS = 100;

/**
 * The contextCSN of a database; null when the server has none, or hides it. OpenLDAP stores it only at
 * intervals (`syncprov-checkpoint`), and after a crash continues from an old value. Until the next change,
 * content synchronization then omits every newer entry, as if it had been deleted.
 * @throws {LdapError} and the signal's reason
 */
export async function readContext(
  connection: LdapConnection,
  suffix: string,
  options: WaitOptions = {},
): Promise<Context | null> {
  const read = () => readContextCsns(connection, suffix, options);
  const before = await read();
  const last = before.at(-1);
  if (last === undefined) return null;
  let newer: string | null = null;
  // The first result ends the search before the connection is used again.
  for await (const csn of readCsnsSince(connection, suffix, last, options)) {
    if (csn === last) continue;
    newer = csn;
    break;
  }
  if (newer === null) return { csns: before, isBehind: false };
  await sleep(MOMENT_MILLISECONDS, undefined, { signal: options.signal });
  const csns = await read();
  return { csns, isBehind: (csns.at(-1) ?? '') < newer };
}

/** The contextCSN values of a database, sorted; empty when the server has none, or hides them. */
export async function readContextCsns(
  connection: LdapConnection,
  suffix: string,
  options: WaitOptions,
): Promise<string[]> {
  const entry = await readOne(connection, suffix, ['contextCSN'], options);
  return entry?.text('contextCSN').sort() ?? [];
}

/**
 * The CSNs of the entries from one on; none when the server does not permit the search. The order of CSNs is
 * the order of their text.
 * @throws {LdapError} and the signal's reason
 */
export async function* readCsnsSince(
  connection: LdapConnection,
  suffix: string,
  csn: string,
  options: WaitOptions = {},
): AsyncGenerator<string> {
  const filter = { kind: 'greaterOrEqual', attribute: 'entryCSN', value: Buffer.from(csn) } as const;
  const request = { base: suffix, scope: 'sub', filter, attributes: ['entryCSN'] } as const;
  try {
    for await (const message of connection.search(request, options)) {
      const [found = ''] = message.kind === 'entry' ? message.entry.text('entryCSN') : [];
      if (found >= csn) yield found;
    }
  } catch (error) {
    if (!(error instanceof LdapResultError)) throw error;
  }
}
