import { PRESETS } from '../../config/model/presets/presets.js';
import type { ServerTraits } from '../../config/model/presets/server-traits.js';
import type { LdapConnection } from '../../ldap/client/ldap-connection.js';
import { readPaged } from '../../ldap/client/paged-search.js';
import { readRootDse } from '../../ldap/client/root-dse.js';
import type { ServerKind } from '../../ldap/client/server-kind.js';
import { ContentSyncRefusedError } from '../../ldap/sync/content-sync-error.js';
import { readContent } from '../../ldap/sync/content-sync.js';
import { SYNC_REQUEST } from '../../ldap/sync/sync-messages.js';
import { ChangeNumbers } from './change-numbers.js';
import { requireCoverage } from './coverage.js';
import type { LdapDirectory } from './ldap-directory.js';
import type { Choice } from './ldap-servers.js';
import { describeLag, type NumberedState } from './numbered-state.js';
import { numbersOf } from './known-numbers.js';
import { type Position, stateOf } from './position.js';
import { KINDS } from '../source.js';

/** How the changes of a server are found. */
type Mode =
  | { readonly kind: 'pushed' }
  | { readonly kind: 'counted'; readonly numbers: ChangeNumbers }
  | { readonly kind: 'polled' };

export interface ChosenMode {
  readonly mode: Mode;
  /** Why better modes are not used, one sentence each, without a full stop. */
  readonly reasons: readonly string[];
  /** Whether the server may offer a better mode later. */
  readonly mayImprove: boolean;
}

/** Servers of unknown kinds may report changes. */
const OTHER: Pick<ServerTraits, 'pushesChanges' | 'counter'> = { pushesChanges: true, counter: null };

function traitsOf(kind: ServerKind): Pick<ServerTraits, 'pushesChanges' | 'counter'> {
  return kind === 'other' ? OTHER : PRESETS[kind];
}

/**
 * Chooses how to follow a server: by the best of the modes that it offers and the model permits.
 * @throws {LdapError} and the signal's reason
 */
export async function chooseMode(
  directory: LdapDirectory,
  connection: LdapConnection,
  signal: AbortSignal,
): Promise<ChosenMode> {
  const { kind } = await readRootDse(connection);
  directory.refused.clear();
  const chosen = await findMode(directory, connection, { kind, signal });
  const isPolled = chosen.mode.kind === 'polled' && kind !== 'openldap';
  directory.isNamedByDn = isPolled && !(await showsIdentity(directory, connection));
  directory.isHashed = directory.isNamedByDn || (isPolled && !(await showsTimes(directory, connection)));
  return chosen;
}

async function findMode(
  directory: LdapDirectory,
  connection: LdapConnection,
  { kind, signal }: { readonly kind: ServerKind; readonly signal: AbortSignal },
): Promise<ChosenMode> {
  const absence = await findWhyNotOffered(directory, connection);
  const refusal = absence ?? (await findWhyRefused(directory, connection, signal));
  if (refusal === null) return { mode: { kind: 'pushed' }, reasons: [], mayImprove: false };
  const { counter } = traitsOf(kind);
  const mayImprove = absence === null;
  if (mayImprove) directory.refused.add(refusal);
  if (counter === null) return { mode: { kind: 'polled' }, reasons: [refusal], mayImprove };
  const numbers = new ChangeNumbers(connection, directory, counter);
  if (await numbers.isOffered())
    return { mode: { kind: 'counted', numbers }, reasons: [refusal], mayImprove };
  const hidden = `The account sees no numbers of changes (${counter.changed}, ${counter.latest})`;
  return { mode: { kind: 'polled' }, reasons: [refusal, hidden], mayImprove: true };
}

/**
 * Connects to the first server that has all changes of a position; when there is none, to the first that is behind.
 * @throws {LdapError} when no server accepts the account; the signal's reason
 */
export function chooseServer(
  directory: LdapDirectory,
  position: Position | null,
  signal: AbortSignal,
): Promise<Choice> {
  const numbers = numbersOf(position);
  const findLag = async (connection: LdapConnection) =>
    numbers === null ? null : describeLag(numbers, await readNumbers(directory, connection));
  const known = { state: stateOf(position), bases: directory.searches, findLag };
  return directory.servers.choose(known, signal);
}

/**
 * What a server shows of its changes and of those of others, however it is followed; null when it shows nothing.
 * @throws {LdapError}
 */
export async function readNumbers(
  directory: LdapDirectory,
  connection: LdapConnection,
): Promise<NumberedState | null> {
  return (await findNumbers(directory, connection))?.readShown() ?? null;
}

/** The numbers of a server of a kind that has some; null for other kinds. */
export async function findNumbers(
  directory: LdapDirectory,
  connection: LdapConnection,
): Promise<ChangeNumbers | null> {
  const { counter } = traitsOf((await readRootDse(connection)).kind);
  return counter === null ? null : new ChangeNumbers(connection, directory, counter);
}

/** The reason why a server that offers content synchronization cannot be followed by it; null when it can. */
export async function findWhyRefused(
  directory: LdapDirectory,
  connection: LdapConnection,
  signal: AbortSignal,
): Promise<string | null> {
  if (!(await showsIdentity(directory, connection)))
    return `The account may not read ${directory.uuid} of every entry`;
  const isComplete = traitsOf((await readRootDse(connection)).kind).pushesChanges;
  try {
    // Only OpenLDAP omits databases.
    if (isComplete) await requireCoverage(directory, connection, signal);
    return (await identifiesBySync(directory, connection, signal, isComplete))
      ? null
      : `Pushed changes are not identified by ${directory.uuid}`;
  } catch (error) {
    if (error instanceof ContentSyncRefusedError) return error.message;
    throw error;
  }
}

/**
 * The reason why content synchronization (RFC 4533) is not used at all; null when the server offers it. The protocol reports
 * entries by entryUUID, which has to be the identifier. Other servers can have another one in its place.
 */
export async function findWhyNotOffered(
  { follow, uuid }: LdapDirectory,
  connection: LdapConnection,
): Promise<string | null> {
  if (follow === 'asked') return 'The model sets follow: asked';
  const { supportedControls, kind } = await readRootDse(connection);
  if (!supportedControls.includes(SYNC_REQUEST))
    return 'The server does not push changes (RFC 4533; OpenLDAP does with the overlay syncprov)';
  if (follow === 'auto' && !traitsOf(kind).pushesChanges)
    return `Content synchronization (RFC 4533) of ${kind} is used only with follow: told in the model`;
  return follow === 'told' || uuid.toLowerCase() === 'entryuuid'
    ? null
    : `Pushed changes are identified by entryUUID, but the key uuid of the model is ${uuid}`;
}

/**
 * Whether the account can read the identifiers of entries. Without them, everything is read to be compared with the mirror.
 */
async function showsIdentity(directory: LdapDirectory, connection: LdapConnection): Promise<boolean> {
  for (const kind of KINDS) {
    const request = { ...directory.searches[kind], attributes: [directory.uuid] };
    for await (const entry of readPaged(connection, request, { pageSize: 1 })) {
      if (!directory.hasIdentity(entry)) return false;
      break;
    }
  }
  return true;
}

/** Whether the server shows when entries were changed. */
async function showsTimes(directory: LdapDirectory, connection: LdapConnection): Promise<boolean> {
  for await (const entry of directory.readTimes(connection)) return directory.timeOf(entry) !== null;
  return true;
}

/** Whether messages identify entries in the same way as the model. OpenLDAP always uses entryUUID. */
async function identifiesBySync(
  directory: LdapDirectory,
  connection: LdapConnection,
  signal: AbortSignal,
  persist: boolean,
): Promise<boolean> {
  if (directory.follow !== 'told') return true;
  for (const kind of KINDS) {
    const request = { ...directory.searches[kind], attributes: [directory.uuid] };
    for await (const { uuid, entry } of readContent(connection, request, signal, persist)) {
      if (directory.identityOf(entry) !== uuid) return false;
      break;
    }
  }
  return true;
}
