import type { LdapConnection, WaitOptions } from '../../ldap/client/ldap-connection.js';
import { readContextCsns, readNewerCsns } from '../../ldap/sync/context-csn.js';
import { type CsnVector, mergeVectors, vectorOf } from '../../ldap/sync/csn-vector.js';
import { suffixOf } from '../../ldap/naming/naming-context.js';
import { readRootDse } from '../../ldap/client/root-dse.js';
import { describeBehind, type ServerState } from './position.js';
import type { EntryKind } from '../source.js';

/** Idle timeout in milliseconds for reading the state of a server, which it can answer immediately. */
const READ_TIMEOUT_MS = 10_000;

export type Bases = Readonly<Record<EntryKind, { readonly base: string }>>;

/**
 * Reads the state of a server by its contextCSN.
 * @throws {LdapError} and the signal's reason
 */
export async function readServerState(connection: LdapConnection, bases: Bases): Promise<ServerState> {
  const options = { idleTimeout: READ_TIMEOUT_MS };
  return ofBothKinds(connection, bases, options, async (_, suffix) => {
    const csns = vectorOf(await readContextCsns(connection, suffix, options));
    return csns.size === 0 ? null : csns;
  });
}

/**
 * Reads the state of a server by its contextCSN and its entries: after a crash, OpenLDAP has entries that are
 * newer than its contextCSN, until the next change.
 * @param state the state by the contextCSN
 * @throws {LdapError} and the signal's reason
 */
export async function readReachedState(
  connection: LdapConnection,
  bases: Bases,
  state: ServerState,
): Promise<ServerState> {
  return ofBothKinds(connection, bases, {}, async (kind, suffix) => {
    const csns = state[kind];
    const newest = [...(csns?.values() ?? [])].sort().at(-1);
    if (csns === null || newest === undefined) return csns;
    let reached: CsnVector = csns;
    for await (const csn of readNewerCsns(connection, suffix, newest)) {
      reached = mergeVectors(reached, vectorOf([csn]));
    }
    return reached;
  });
}

/**
 * Reads the state of a server by its contextCSN, and compares it with a known state. A contextCSN that a crash has set back does
 * not make a server lag, because its entries show the changes.
 * @returns the state, and a description of how the server is behind the known state, or null
 * @throws {LdapError} and the signal's reason
 */
export async function compareWithServer(
  connection: LdapConnection,
  bases: Bases,
  known: ServerState,
): Promise<{ state: ServerState; behind: string | null }> {
  const state = await readServerState(connection, bases);
  if (describeBehind(known, state) === null) return { state, behind: null };
  return { state, behind: describeBehind(known, await readReachedState(connection, bases, state)) };
}

/** Reads a value from the databases of people and of groups; only once if both are in the same database. */
async function ofBothKinds(
  connection: LdapConnection,
  bases: Bases,
  options: WaitOptions,
  read: (kind: EntryKind, suffix: string) => Promise<CsnVector | null>,
): Promise<ServerState> {
  const { namingContexts } = await readRootDse(connection, options);
  const suffixes = {
    person: suffixOf(bases.person.base, namingContexts),
    group: suffixOf(bases.group.base, namingContexts),
  };
  const readKind = (kind: EntryKind) => {
    const suffix = suffixes[kind];
    return suffix === undefined ? null : read(kind, suffix);
  };
  const person = await readKind('person');
  return { person, group: suffixes.group === suffixes.person ? person : await readKind('group') };
}
