import type { OnApplicationShutdown, OnModuleInit } from '@nestjs/common';
import type { Config } from '../../config/config.js';
import type { CurrentRevision } from '../revisions/current-revision.js';
import type { DirectoryDataSource } from './data-source.js';
import { hasHadRevision } from './diverged-replica.js';
import { Replica } from './replica.js';
import type { Revision } from '../revisions/revision.js';
import { revisionOf } from '../revisions/revision.js';
import type { Statement } from '../statements/statement.js';

/**
 * The read replicas, and which of them has the revision of the primary. A replica is always a little behind, and after a
 * failover it may have revisions that the primary never had: it is asked only while it has the very revision that the
 * primary has told (docs/adr/0021).
 */
export class Replicas implements OnModuleInit, OnApplicationShutdown {
  private readonly stopping = new AbortController();
  private watching: Promise<unknown> = Promise.resolve();
  private turn = 0;

  constructor(
    private readonly all: readonly Replica[],
    private readonly revision: CurrentRevision,
  ) {}

  /** Null where there are none. */
  static of(
    database: Config['database'],
    revision: CurrentRevision,
    primary: Pick<DirectoryDataSource, 'pool'>,
  ): Replicas | null {
    if (database.kind === 'pglite' || database.replicaUrls.length === 0) return null;
    const hasHad = async (id: string) => id === revision.known?.id || hasHadRevision(primary.pool, id);
    return new Replicas(
      database.replicaUrls.map((url) => new Replica(url, database.poolSize, hasHad)),
      revision,
    );
  }

  onModuleInit(): void {
    this.watching = Promise.all(this.all.map((replica) => replica.watch(this.stopping.signal)));
  }

  /** Until here requests are answered. */
  async onApplicationShutdown(): Promise<void> {
    this.stopping.abort();
    await this.watching;
    await Promise.all(this.all.map((replica) => replica.close()));
  }

  /** How many there are, and how many of them are asked at this moment. */
  get count(): { readonly all: number; readonly current: number } {
    const needed = this.revision.known;
    const current = needed === null ? 0 : this.all.filter((replica) => replica.has(needed)).length;
    return { all: this.all.length, current };
  }

  /** Each of them, and the revision that the primary has. */
  get standing(): { readonly needed: Revision | null; readonly each: readonly Replica['standing'][] } {
    return { needed: this.revision.known, each: this.all.map(({ standing }) => standing) };
  }

  /** @param host as a replica is called */
  noteSharedSessions(host: string, isShared: boolean): void {
    for (const replica of this.all) if (replica.standing.host === host) replica.noteSharedSessions(isShared);
  }

  /**
   * Runs a statement that tells its revision on one of them, in turns.
   * @returns null when the primary is to be asked: none has what is needed, or the answer does not show that it is of it
   * @throws ServiceError TIMEOUT when it takes too long
   */
  async read<Row extends unknown[]>(statement: Statement, values: readonly unknown[]): Promise<Row[] | null> {
    const replica = this.choose();
    if (replica === null) return null;
    const rows = await replica.read<Row>(statement, values);
    // Without a row there is no revision: that something is not there is only believed of the primary.
    const id = rows === null ? null : revisionOf(statement, rows);
    // The primary may have told another one meanwhile.
    return id === null || id !== this.revision.known?.id ? null : rows;
  }

  private choose(): Replica | null {
    const { all } = this;
    const needed = this.revision.known;
    if (needed === null) return null;
    for (let tried = 0; tried < all.length; tried++) {
      this.turn = (this.turn + 1) % all.length;
      const replica = all[this.turn];
      if (replica?.has(needed) === true) return replica;
    }
    return null;
  }
}
