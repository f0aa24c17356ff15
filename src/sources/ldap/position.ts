import {
  compareVectors,
  type CsnDifference,
  type CsnVector,
  mergeVectors,
  timeOfCsn,
  vectorOf,
} from '../../ldap/sync/csn-vector.js';
import { csnsOf, parseSyncCookie } from '../../ldap/sync/sync-cookie.js';
import { ServerBehindError } from '../source.error.js';
import { type EntryKind, KINDS } from '../source.js';
import { type NumberedState, parseNumbers } from './numbered-state.js';

/** The replication state of a server by kind; null where the server hides it. */
export type ServerState = Readonly<Record<EntryKind, CsnVector | null>>;

/**
 * The position from which changes of a directory can be followed: the cookies of content synchronization, the
 * numbers of the latest changes (kind `count`), or the state that the next poll is compared with (kind
 * `look`). It is stored with its revision.
 */
export type Position = {
  /** What the server refuses, one sentence each; absent when there is nothing. */
  readonly refusals?: readonly string[];
  /** What a server that is not followed by its numbers shows of them. Those of kind `count` are in the position itself. */
  readonly numbers?: NumberedState;
} & (
  | { readonly kind: 'cookies'; readonly person: Buffer; readonly group: Buffer }
  | ({
      readonly kind: 'count';
      /** Whether some numbers belong to changes that were not found, such as deletions. */
      readonly isDoubtful: boolean;
    } & NumberedState)
  /** Entries are compared by hashes, which are stored with them. */
  | { readonly kind: 'hash' }
  | {
      readonly kind: 'look';
      /** The state of the server by its contextCSN. */
      readonly state: ServerState;
      /**
       * The state by its entries as well: after a crash they are newer than the contextCSN. Later states are
       * not compared with this one, because the newest entry can be deleted.
       */
      readonly reached: ServerState;
      /** All changes before this time have been read, by the directory's own clock and in its format. */
      readonly since: string;
      /**
       * The latest change that was read. Some changes made while entries were read came too late to be
       * included, and may be older: only a later poll guarantees that no older change is missing.
       */
      readonly latest: string;
    }
);

export function formatPosition({ refusals = [], numbers, ...position }: Position): string {
  const refused = refusals.length === 0 ? {} : { refusals };
  return JSON.stringify({ ...formatted(position), numbers, ...refused });
}

function formatted(position: Position): object {
  const { kind, ...values } = position;
  if (kind === 'count' || kind === 'hash') return { [kind]: values };
  if (position.kind === 'cookies')
    return { person: position.person.toString('base64'), group: position.group.toString('base64') };
  const { state, reached, since, latest } = position;
  return { state: formatState(state), reached: formatState(reached), since, latest };
}

/**
 * Null for text that formatPosition did not write, and for a cookie that contains a server ID (see
 * readCookie).
 */
export function parsePosition(text: string | null): Position | null {
  if (text === null) return null;
  const value = parse(text);
  const position = parseKind(value);
  if (position === null) return null;
  const { refusals } = value;
  const numbers = parseNumbers(value['numbers']);
  const refused = isTextList(refusals) && refusals.length > 0 ? { refusals } : {};
  return { ...position, ...(numbers !== null && { numbers }), ...refused };
}

function parseKind(value: Record<string, unknown>): Position | null {
  const { state, reached, since, latest, count, hash } = value;
  const person = readCookie(value['person']);
  const group = readCookie(value['group']);
  if (person !== null && group !== null) return { kind: 'cookies', person, group };
  if (typeof hash === 'object') return { kind: 'hash' };
  if (count !== undefined) return parseCount(count);
  if (typeof since !== 'string' || typeof latest !== 'string') return null;
  return { kind: 'look', state: parseState(state), reached: parseState(reached), since, latest };
}

function parseCount(value: unknown): Position | null {
  const numbers = parseNumbers(value);
  if (numbers === null) return null;
  const { isDoubtful } = value as Record<string, unknown>;
  return { kind: 'count', ...numbers, isDoubtful: isDoubtful !== false };
}

function isTextList(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((each) => typeof each === 'string');
}

/** Whether changes continue from the same state at two stored positions, of which what servers need besides can differ. */
export function isSamePosition(one: string | null, other: string | null): boolean {
  const [first, second] = [one, other].map((text) => {
    const position = parsePosition(text);
    return position?.kind === 'cookies' ? JSON.stringify(formatted({ ...position, refusals: [] })) : text;
  });
  return first === second;
}

/** What the server of a position refuses, one sentence each. */
export function refusalsOf(position: Position | null): readonly string[] {
  return position === null ? [] : (position.refusals ?? []);
}

/** The state of the server at a position; null for a kind whose state the position does not contain. */
export function stateOf(position: Position | null): ServerState {
  if (position === null || position.kind === 'count' || position.kind === 'hash')
    return { person: null, group: null };
  if (position.kind === 'cookies') {
    return { person: shownIn(csnsOf(position.person)), group: shownIn(csnsOf(position.group)) };
  }
  return position.state;
}

/** The state of the server at a position, by its entries as well: see Position. */
export function reachedOf(position: Position | null): ServerState {
  return position?.kind === 'look' ? position.reached : stateOf(position);
}

/** The later of two states for each server ID. Where one state is hidden, the other one is used. */
export function mergeStates(one: ServerState, other: ServerState): ServerState {
  const merge = (kind: EntryKind) => {
    const [first, second] = [one[kind], other[kind]];
    return first === null || second === null ? (first ?? second) : mergeVectors(first, second);
  };
  return { person: merge('person'), group: merge('group') };
}

/** A state without the kinds whose state a server hides. */
export function whereShown({ person, group }: ServerState, shown: ServerState): ServerState {
  return { person: shown.person && person, group: shown.group && group };
}

/** Compares two states, possibly of two servers. A kind that either state does not contain is ignored. */
export function compareStates(known: ServerState, current: ServerState): CsnDifference {
  const differences = KINDS.flatMap((kind) => {
    const before = known[kind];
    const now = current[kind];
    return before === null || now === null ? [] : [compareVectors(before, now)];
  });
  return {
    behind: [...new Set(differences.flatMap(({ behind }) => behind))],
    added: [...new Set(differences.flatMap(({ added }) => added))],
  };
}

/** @throws ServerBehindError when a server with this state lacks changes that are known */
function refuseBehind(known: ServerState, current: ServerState): void {
  const reason = describeBehind(known, current);
  if (reason !== null) throw new ServerBehindError(reason);
}

/** Describes how a server with this state is behind the known state; null when it is not behind. */
export function describeBehind(known: ServerState, current: ServerState): string | null {
  const { behind } = compareStates(known, current);
  if (behind.length === 0) return null;
  const csns = behind.flatMap((serverId) =>
    [known.person?.get(serverId), known.group?.get(serverId)].filter((csn) => csn !== undefined),
  );
  const since = timeOfCsn(csns.sort().at(-1) ?? '');
  return `The directory server is behind what is known since ${since} (server ID ${behind.join(', ')})`;
}

/** Describes that a server with this state hides a state that was visible before; null when it does not. */
export function describeHidden(known: ServerState, current: ServerState): string | null {
  const isHidden = KINDS.some((kind) => known[kind] !== null && current[kind] === null);
  return isHidden ? 'The directory server no longer shows its contextCSN' : null;
}

/**
 * Checks the end of a refresh that continues from cookies.
 * @throws ServerBehindError when the server lacks changes that are known
 */
export function refuseRefresh(
  from: Extract<Position, { kind: 'cookies' }>,
  kind: EntryKind,
  { unmentionedAreGone, cookie }: { unmentionedAreGone: boolean; cookie: Buffer | null },
): void {
  const known = stateOf(from);
  const current = stateOf({ ...from, [kind]: cookie ?? Buffer.alloc(0) });
  if (cookie !== null) refuseBehind(known, current);
  // If the end of the refresh does not show the state of the server, an entry that it did not mention may
  // be one that the server does not have yet.
  const hidden = describeHidden(known, current);
  if (unmentionedAreGone && hidden !== null) throw new ServerBehindError(hidden);
}

/** A text that identifies the state of a server. */
export function keyOfState({ person, group }: ServerState): string {
  return [...(person?.values() ?? []), '', ...(group?.values() ?? [])].join(' ');
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
 * Null for a cookie with a server ID, which an earlier release stored: the server would omit its own changes,
 * so the mirror has to be compared with the whole directory.
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
