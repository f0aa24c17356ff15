import type { DirectoryConfig, LdapSourceConfig } from '../../config/settings/directory.js';
import type { LdapConnection } from '../../ldap/client/ldap-connection.js';
import { ContentSyncRefusedError } from '../../ldap/sync/content-sync-error.js';
import type { Entry } from '../../ldap/entry.js';
import { readPaged } from '../../ldap/client/paged-search.js';
import { ContentSession } from './content-session.js';
import { requireCoverage } from './coverage.js';
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
      yield* (await this.returnsAllEntries(connection, signal))
        ? this.readBySession(connection, signal)
        : this.readByPages(connection, signal);
    } finally {
      connection.close();
    }
  }

  position(): string | null {
    return this.reached;
  }

  private async returnsAllEntries(connection: LdapConnection, signal: AbortSignal): Promise<boolean> {
    if (!(await this.directory.supportsContentSync(connection))) return false;
    try {
      await requireCoverage(this.directory, connection, signal);
      return true;
    } catch (error) {
      if (error instanceof ContentSyncRefusedError) return false;
      throw error;
    }
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

  private async *readByPages(
    connection: LdapConnection,
    signal: AbortSignal,
  ): AsyncGenerator<{ kind: EntryKind; entry: Entry }> {
    // The state and the times are read first: the next poll finds changes made while the entries are read.
    const { searches } = this.directory;
    const state = await readServerState(connection, searches);
    const reached = await readReachedState(connection, searches, state);
    const { modifiedAt } = this.config.mapping.users;
    const before = new DirectoryClock(modifiedAt);
    for await (const entry of this.directory.readTimes(connection)) before.note(entry);
    const clock = new DirectoryClock(modifiedAt, before.latest);
    let isFollowable = before.latest !== '';
    for (const kind of KINDS) {
      for await (const entry of readPaged(connection, searches[kind], { signal })) {
        clock.note(entry);
        if (!this.directory.covers(kind, entry.dn)) continue;
        isFollowable &&= this.directory.hasIdentity(entry);
        yield { kind, entry };
      }
    }
    const { latest } = clock;
    this.reached = isFollowable
      ? formatPosition({ kind: 'look', state, reached, since: before.latest, latest })
      : null;
  }
}
