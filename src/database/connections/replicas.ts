import type { OnApplicationShutdown, OnModuleInit } from '@nestjs/common';
import type { Config } from '../../config/config.js';
import { type CurrentRevision, type Revision, revisionOf } from '../revisions/revision.js';
import type { DirectoryDataSource } from './data-source.js';
import { hasHadRevision, ReadReplica } from './replica.js';
import type { Statement } from '../statements/statement.js';

/**
 * The read replicas. Each is used only while it has exactly the revision that the primary reported
 * (docs/adr/0021): it lags, and after a failover it may have revisions that the primary never had.
 */
export class Replicas implements OnModuleInit, OnApplicationShutdown {
  private readonly stopping = new AbortController();
  private watching: Promise<unknown> = Promise.resolve();
  private turn = 0;

  constructor(
    private readonly all: readonly ReadReplica[],
    private readonly revision: CurrentRevision,
  ) {}

  static of(
    database: Config['database'],
    revision: CurrentRevision,
    primary: Pick<DirectoryDataSource, 'pool'>,
  ): Replicas | null {
    if (database.replicaUrls.length === 0) return null;
    const hasHad = async (id: string) => id === revision.known?.id || hasHadRevision(primary.pool, id);
    return new Replicas(
      database.replicaUrls.map((url) => new ReadReplica(url, database, hasHad)),
      revision,
    );
  }

  onModuleInit(): void {
    this.watching = Promise.all(this.all.map((replica) => replica.watch(this.stopping.signal)));
  }

  /** Requests are answered until this hook runs. */
  async onApplicationShutdown(): Promise<void> {
    this.stopping.abort();
    await this.watching;
    await Promise.all(this.all.map((replica) => replica.close()));
  }

  /** Number of replicas, and number of those in use at the moment. */
  get count(): { readonly all: number; readonly current: number } {
    const needed = this.revision.known;
    const current = needed === null ? 0 : this.all.filter((replica) => replica.has(needed)).length;
    return { all: this.all.length, current };
  }

  get state(): { readonly needed: Revision | null; readonly each: readonly ReadReplica['state'][] } {
    return { needed: this.revision.known, each: this.all.map(({ state }) => state) };
  }

  /** @param host host name of the replica */
  noteSharedSessions(host: string, isShared: boolean): void {
    for (const replica of this.all) if (replica.state.host === host) replica.noteSharedSessions(isShared);
  }

  /**
   * Runs a statement that returns its revision on one of the replicas, in turns. Null if the primary has to
   * answer: no replica has the revision, or the rows do not prove it. Throws ServiceError TIMEOUT.
   */
  async read<Row extends unknown[]>(statement: Statement, values: readonly unknown[]): Promise<Row[] | null> {
    const replica = this.choose();
    if (replica === null) return null;
    const rows = await replica.read<Row>(statement, values);
    // An empty result has no revision. Only the primary can prove that an object does not exist.
    const id = rows === null ? null : revisionOf(statement, rows);
    // The primary may have reported another revision in the meantime.
    return id === null || id !== this.revision.known?.id ? null : rows;
  }

  private choose(): ReadReplica | null {
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
