import type { DirectoryConfig, LdapSourceConfig } from '../../config/settings/directory.js';
import type { LdapConnection } from '../../ldap/client/ldap-connection.js';
import type { Entry } from '../../ldap/entry.js';
import { readPaged } from '../../ldap/client/paged-search.js';
import type { ChangeNumbers } from './change-numbers.js';
import { ContentSession } from './content-session.js';
import { chooseMode } from './follow-mode.js';
import { DirectoryClock } from './directory-clock.js';
import { LdapDirectory } from './ldap-directory.js';
import { formatPosition } from './position.js';
import { requireKind } from './recognize.js';
import { readReachedState, readServerState } from './server-state.js';
import { type DirectorySource, type EntryKind, fingerprintOf, KINDS } from '../source.js';

/** A complete LDAP directory, read by content synchronization if available, and otherwise page by page. */
export class LdapSource implements DirectorySource {
  private readonly directory: LdapDirectory;
  private reached: string | null = null;

  constructor(
    private readonly config: DirectoryConfig,
    source: LdapSourceConfig,
  ) {
    this.directory = new LdapDirectory(config, source);
  }

  fingerprint(): Promise<string> {
    return Promise.resolve(fingerprintOf(this.config));
  }

  async *read(signal: AbortSignal): AsyncGenerator<{ kind: EntryKind; entry: Entry }> {
    const connection = await this.directory.servers.connect(signal);
    try {
      await requireKind(this.config, connection);
      const { mode } = await chooseMode(this.directory, connection, signal);
      yield* mode.kind === 'pushed'
        ? this.readBySession(connection, signal)
        : this.readByPages(connection, mode.kind === 'counted' ? mode.numbers : null, signal);
    } finally {
      connection.close();
    }
  }

  position(): string | null {
    return this.reached;
  }

  private async *readBySession(
    connection: LdapConnection,
    signal: AbortSignal,
  ): AsyncGenerator<{ kind: EntryKind; entry: Entry }> {
    const options = { from: null, follows: false, signal };
    const session = await ContentSession.open(this.directory, connection, options);
    try {
      yield* session.readAll();
      this.reached = session.position();
    } finally {
      session.close();
    }
  }

  /** @param numbers the numbers of changes; null when the server has none */
  private async *readByPages(
    connection: LdapConnection,
    numbers: ChangeNumbers | null,
    signal: AbortSignal,
  ): AsyncGenerator<{ kind: EntryKind; entry: Entry }> {
    // The state and the times are read first: the next poll finds changes made while the entries are read.
    const { searches } = this.directory;
    const numbered = (await numbers?.read()) ?? null;
    const state = await readServerState(connection, searches);
    const reached = await readReachedState(connection, searches, state);
    const { modifiedAt } = this.config.mapping.users;
    const before = new DirectoryClock(modifiedAt);
    if (numbered === null) for await (const entry of this.directory.readTimes(connection)) before.note(entry);
    const clock = new DirectoryClock(modifiedAt, before.latest);
    let isFollowable = numbered !== null || before.latest !== '';
    for (const kind of KINDS) {
      for await (const entry of readPaged(connection, searches[kind], { signal })) {
        clock.note(entry);
        if (!this.directory.covers(kind, entry.dn)) continue;
        isFollowable &&= this.directory.hasIdentity(entry);
        yield { kind, entry };
      }
    }
    if (isFollowable)
      this.reached = formatPosition(
        numbered === null
          ? { kind: 'look', state, reached, since: before.latest, latest: clock.latest }
          : { kind: 'count', ...numbered, isDoubtful: false },
      );
    else this.reached = null;
  }
}
