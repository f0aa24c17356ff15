import {
  compareVectors,
  type CsnDifference,
  type CsnVector,
  timeOfCsn,
  vectorOf,
} from '../../ldap/sync/csn-vector.js';
import { csnsOf, parseSyncCookie } from '../../ldap/sync/sync-cookie.js';
import { ServerBehindError } from './server-behind.error.js';
import type { EntryKind } from '../source.js';

/** How far a server has come in the databases of people and of groups; null: it does not show it. */
export type ServerState = Readonly<Record<EntryKind, CsnVector | null>>;

/**
 * From where a directory can be followed: the cookies of content synchronisation, or what a later look is compared
 * with. Kept as text beside the revision that it belongs to.
 */
export type Position =
  | { readonly kind: 'cookies'; readonly person: Buffer; readonly group: Buffer }
  | {
      readonly kind: 'look';
      /** How far the server had come, by its contextCSN. */
      readonly state: ServerState;
      /**
       * How far it had come by its entries too: after a crash they are newer than the contextCSN. No later state is
       * compared with this one, since the newest entry can be deleted.
       */
      readonly reached: ServerState;
      /** Whatever was changed before has been seen; by the directory's clock, as it writes it. */
      readonly since: string;
      /**
       * The latest change that was seen. Of what changed while entries were read some came too late to be seen, and may
       * be older: only from another look on is nothing older than this missing.
       */
      readonly latest: string;
    };

export function formatPosition(position: Position): string {
  return JSON.stringify(
    position.kind === 'cookies'
      ? { person: position.person.toString('base64'), group: position.group.toString('base64') }
      : {
          state: formatState(position.state),
          reached: formatState(position.reached),
          since: position.since,
          latest: position.latest,
        },
  );
}

/** Null for what was not written by formatPosition, and for a cookie that names a server (see readCookie). */
export function parsePosition(text: string | null): Position | null {
  if (text === null) return null;
  const value = parse(text);
  const { state, reached, since, latest } = value;
  const person = readCookie(value['person']);
  const group = readCookie(value['group']);
  if (person !== null && group !== null) return { kind: 'cookies', person, group };
  if (typeof since !== 'string' || typeof latest !== 'string') return null;
  return { kind: 'look', state: parseState(state), reached: parseState(reached), since, latest };
}

/** How far the server had come that a position is of, as far as the position says. */
export function stateOf(position: Position | null): ServerState {
  if (position === null) return { person: null, group: null };
  if (position.kind === 'cookies') {
    return { person: shownIn(csnsOf(position.person)), group: shownIn(csnsOf(position.group)) };
  }
  return position.state;
}

/** How far the server had really come: see Position. */
export function reachedOf(position: Position | null): ServerState {
  return position?.kind === 'look' ? position.reached : stateOf(position);
}

/** A state, and of what it does not show what was known before. */
export function withKnown(state: ServerState, known: ServerState): ServerState {
  return { person: state.person ?? known.person, group: state.group ?? known.group };
}

/** Compares two states of a directory, possibly of two servers. What one of them does not show is left out. */
export function compareStates(known: ServerState, current: ServerState): CsnDifference {
  const [people, groups] = (['person', 'group'] as const).map((kind) => {
    const before = known[kind];
    const now = current[kind];
    return before === null || now === null ? { behind: [], added: [] } : compareVectors(before, now);
  });
  return {
    behind: [...new Set([...(people?.behind ?? []), ...(groups?.behind ?? [])])],
    added: [...new Set([...(people?.added ?? []), ...(groups?.added ?? [])])],
  };
}

/**
 * @throws ServerBehindError when a server with this state does not have everything that is known
 */
export function refuseBehind(known: ServerState, current: ServerState): void {
  const reason = describeBehind(known, current);
  if (reason !== null) throw new ServerBehindError(reason);
}

/** In words, how a server with this state is behind what is known; null: it is not. */
export function describeBehind(known: ServerState, current: ServerState): string | null {
  const { behind } = compareStates(known, current);
  if (behind.length === 0) return null;
  const csns = behind.flatMap((serverId) =>
    [known.person?.get(serverId), known.group?.get(serverId)].filter((csn) => csn !== undefined),
  );
  const since = timeOfCsn(csns.sort().at(-1) ?? '');
  return `The directory server is behind what is known since ${since} (server ID ${behind.join(', ')})`;
}

/** In words, what a server with this state does not show any more; null: it shows as much as before. */
export function describeHidden(known: ServerState, current: ServerState): string | null {
  const isHidden = (['person', 'group'] as const).some(
    (kind) => known[kind] !== null && current[kind] === null,
  );
  return isHidden ? 'The directory server no longer shows how far it has come (contextCSN)' : null;
}

function formatState({ person, group }: ServerState): Record<EntryKind, string[] | null> {
  return { person: person && [...person.values()], group: group && [...group.values()] };
}

function parseState(value: unknown): ServerState {
  const { person, group } = (value ?? {}) as Record<string, unknown>;
  const csnsIn = (csns: unknown) =>
    Array.isArray(csns) ? shownIn(vectorOf(csns.filter((csn) => typeof csn === 'string'))) : null;
  return { person: csnsIn(person), group: csnsIn(group) };
}

function shownIn(csns: CsnVector): CsnVector | null {
  return csns.size === 0 ? null : csns;
}

/**
 * Null for a cookie with the ID of a server, which a former release kept: sent back, it made the server leave out its own
 * changes, so the mirror has to be compared with everything.
 */
function readCookie(text: unknown): Buffer | null {
  if (typeof text !== 'string') return null;
  const cookie = Buffer.from(text, 'base64');
  const serverId = parseSyncCookie(cookie)?.serverId ?? null;
  return serverId === null ? cookie : null;
}

function parse(text: string): Record<string, unknown> {
  try {
    return (JSON.parse(text) ?? {}) as Record<string, unknown>;
  } catch {
    return {};
  }
}
