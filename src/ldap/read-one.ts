import type { LdapConnection, WaitOptions } from './connection.js';
import type { Entry } from './entry.js';
import { ANY_ENTRY } from './requests.js';

/**
 * An entry by its DN; null when the server shows nothing of it.
 * @throws {LdapError} an LdapResultError with noSuchObject when there is none; the signal's reason
 */
export async function readOne(
  connection: LdapConnection,
  dn: string,
  attributes: readonly string[],
  options: WaitOptions = {},
): Promise<Entry | null> {
  const request = { base: dn, scope: 'base', filter: ANY_ENTRY, attributes } as const;
  let found: Entry | null = null;
  for await (const message of connection.search(request, options)) {
    if (message.kind === 'entry') found = message.entry;
  }
  return found;
}

/** Values for which no wrong byte is worth failing. */
export function textOf(entry: Entry | null, attribute: string): string[] {
  return entry?.bytes(attribute).map((value) => value.toString('utf8')) ?? [];
}
