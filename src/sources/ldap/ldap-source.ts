import type { DirectoryConfig, LdapSourceConfig } from '../../config/settings/directory.js';
import type { LdapConnection } from '../../ldap/client/ldap-connection.js';
import type { Entry } from '../../ldap/entry.js';
import { readPaged } from '../../ldap/client/paged-search.js';
import type { ChangeNumbers } from './change-numbers.js';
import { ContentSession } from './content-session.js';
import { chooseMode } from './follow-mode.js';
import { DirectoryClock } from './directory-clock.js';
import { LdapDirectory } from './ldap-directory.js';
import { formatPosition, type Position } from './position.js';
import { requireKind } from './recognize.js';
import { readReachedState, readServerState } from './server-state.js';
import { ShownNumbers } from './shown-numbers.js';
import { type DirectorySource, type EntryKind, fingerprintOf, KINDS } from '../source.js';

/** A complete LDAP directory, read by content synchronization if available, and otherwise page by page. */
export class LdapSource implements DirectorySource {
  readonly isReadOnce = false;
  private readonly directory: LdapDirectory;
  private reached: string | null = null;

  /**
   * @param open the connection to read from, which stays open; by default the first server that accepts the account is read. The
   * follower of a server must not read another one, which may lag.
   */
  constructor(
    private readonly config: DirectoryConfig,
    source: LdapSourceConfig,
    private readonly open: LdapConnection | null = null,
  ) {
    this.directory = new LdapDirectory(config, source);
  }

  fingerprint(): Promise<string> {
    return Promise.resolve(fingerprintOf(this.config));
  }

  async *read(signal: AbortSignal): AsyncGenerator<{ kind: EntryKind; entry: Entry }> {
    const connection = this.open ?? (await this.directory.servers.connect(signal));
    try {
      await requireKind(this.config, connection);
      const { mode } = await chooseMode(this.directory, connection, signal);
      yield* mode.kind === 'pushed'
        ? this.readBySession(connection, signal)
        : this.readByPages(connection, mode.kind === 'counted' ? mode.numbers : null, signal);
    } finally {
      if (this.open === null) connection.close();
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
    const { directory } = this;
    const { modifiedAt } = this.config.mapping.users;
    // The position is read first: the next poll finds changes made while the entries are read.
    const before = await this.readPosition(connection, numbers);
    const clock = new DirectoryClock(modifiedAt, before.kind === 'look' ? before.latest : '');
    let isFollowable = before.kind !== 'look' || before.latest !== '';
    for (const kind of KINDS) {
      for await (const entry of readPaged(connection, directory.searches[kind], { signal })) {
        clock.note(entry);
        if (!directory.covers(kind, entry.dn)) continue;
        isFollowable &&= directory.isNamedByDn || directory.hasIdentity(entry);
        yield { kind, entry };
      }
    }
    const after = before.kind === 'look' ? { ...before, latest: clock.latest } : before;
    this.reached = isFollowable ? formatPosition(after) : null;
  }

  private async readPosition(
    connection: LdapConnection,
    numbers: ChangeNumbers | null,
  ): Promise<Exclude<Position, { kind: 'cookies' }>> {
    const numbered = (await numbers?.readWithOthers()) ?? null;
    const refusals = this.directory.refusals(connection);
    if (numbered !== null) return { kind: 'count', ...numbered, isDoubtful: false, refusals };
    const shown = await ShownNumbers.of(this.directory, connection, null);
    const common = { refusals, ...(await shown.read()) };
    if (this.directory.isHashed) return { kind: 'hash', ...common };
    const { searches } = this.directory;
    const state = await readServerState(connection, searches);
    const reached = await readReachedState(connection, searches, state);
    const clock = new DirectoryClock(this.config.mapping.users.modifiedAt);
    for await (const entry of this.directory.readTimes(connection)) clock.note(entry);
    const { latest } = clock;
    return { kind: 'look', state, reached, since: latest, latest, ...common };
  }
}
