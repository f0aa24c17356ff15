import type { DirectoryConfig } from '../../config/settings/directory.js';
import type { LdapConnection } from '../../ldap/client/ldap-connection.js';
import type { SearchRequest } from '../../ldap/client/requests.js';
import type { Hint, HintMode } from '../directory.js';
import type { EntryKind } from '../source.js';

/** What says where to look for changes. */
export interface HintSource {
  readonly mode: HintMode;
  /** Why a better way is not used, one sentence each, without a full stop. */
  readonly refusals: readonly string[];
  hints(signal: AbortSignal): AsyncIterable<Hint>;
}

/** The server that is asked for hints. */
export interface HintedServer {
  readonly config: DirectoryConfig;
  readonly connection: LdapConnection;
  readonly searches: Readonly<Record<EntryKind, SearchRequest>>;
  /** The contextCSN of the server, from which on it pushes changes. */
  readonly shownCsns: readonly string[];
  /** The attributes of the identifier and of the time of the last change. */
  readonly uuid: string;
  readonly modifiedAt: string;
  covers(kind: EntryKind, dn: string): boolean;
}
