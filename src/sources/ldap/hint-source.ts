import { EventEmitter, on } from 'node:events';
import type { DirectoryConfig } from '../../config/settings/directory.js';
import type { LdapConnection } from '../../ldap/client/ldap-connection.js';
import type { SearchRequest } from '../../ldap/client/requests.js';
import type { Hint, HintMode } from '../directory.js';
import type { EntryKind } from '../source.js';
import type { ContextCsns } from './context-csns.js';

/** Milliseconds after which a later change has a later time than the latest one that was seen. */
export const SECOND_MS = 1100;

/** What says where to look for changes. */
export interface HintSource {
  readonly mode: HintMode;
  /** Why a better way is not used, one sentence each, without a full stop. */
  readonly refusals: readonly string[];
  hints(signal: AbortSignal): AsyncIterable<Hint>;
}

/** The server of which hints are read. */
export interface HintedServer {
  readonly config: DirectoryConfig;
  readonly connection: LdapConnection;
  readonly searches: Readonly<Record<EntryKind, SearchRequest>>;
  readonly csns: ContextCsns;
  /** The attributes of the identifier and of the time of the last change. */
  readonly uuid: string;
  readonly modifiedAt: string;
  covers(kind: EntryKind, dn: string): boolean;
}

/** Passes hints on. */
export type Put = (hint: Hint) => void;

/**
 * Yields the hints of searches that run at the same time, until one of them fails or the signal is aborted.
 * @param start begins the searches, which end with the signal that it is given
 */
export async function* gather(
  signal: AbortSignal,
  start: (put: Put, signal: AbortSignal) => readonly Promise<void>[],
): AsyncGenerator<Hint> {
  const ending = new AbortController();
  // An error after the end is of no interest.
  const inbox = new EventEmitter().on('error', () => undefined);
  const hints = on(inbox, 'hint', { signal }) as AsyncIterable<[Hint]>;
  const put = (hint: Hint) => inbox.emit('hint', hint);
  for (const search of start(put, AbortSignal.any([signal, ending.signal])))
    search.catch((error: unknown) => inbox.emit('error', error));
  try {
    for await (const [hint] of hints) yield hint;
  } finally {
    ending.abort(new Error('The hints were closed'));
  }
}
