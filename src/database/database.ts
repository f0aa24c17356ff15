import { Inject, Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { ServiceUnavailableError } from '../common/errors.js';
import type { DirectoryDataSource } from './connections/data-source.js';
import { Replicas } from './connections/replicas.js';
import { CurrentRevision, revisionOf } from './revisions/revision.js';
import { databaseError } from './statements/database-error.js';
import { PreviewTransaction } from './statements/preview-transaction.js';
import type { Statement } from './statements/statement.js';
import { OUTSIDER, type Viewer } from './visibility/viewer.js';
import type { VisibilitySource } from './visibility/visible-statement.js';

/** Read access and transactions for all other modules. */
@Injectable()
export class Database implements VisibilitySource {
  /** Whether the revision that was read last hides something from someone. Only a hint: see VisibleReader. */
  hides = false;
  /** The same with the log of changes. */
  hidesInLog = false;
  /** True while the server does not answer or accepts no writes. Statements are rejected then. */
  private isAway = false;
  /** True while a pooler gives each transaction another session. Statements are rejected then. */
  private hasSharedSessions = false;
  /** Called when the server answers again on a new connection: a pooler may have appeared in between. */
  onReconnect: () => void = () => undefined;

  constructor(
    @Inject(DataSource) private readonly dataSource: DirectoryDataSource,
    readonly revision: CurrentRevision = new CurrentRevision(),
    @Inject(Replicas) private readonly replicas: Replicas | null = null,
  ) {}

  /** Statements that return their revision run on a current replica, all others on the primary (docs/adr/0021). */
  async read<Row extends unknown[]>(statement: Statement, values: readonly unknown[] = []): Promise<Row[]> {
    if (this.replicas !== null && statement.returnsRevision) {
      const replicated = await this.replicas.read<Row>(statement, values);
      if (replicated !== null) return replicated;
    }
    this.refuseInVain();
    const rows = await this.dataSource.statements.read<Row>(statement, values);
    const id = revisionOf(statement, rows);
    if (id !== null) this.revision.noteRead(id);
    return rows;
  }

  async transaction<Result>(work: (manager: EntityManager) => Promise<Result>): Promise<Result> {
    try {
      return await this.dataSource.transaction(work);
    } catch (error) {
      throw databaseError(error);
    }
  }

  /** Runs `work` on the mirror with uncommitted changes, which are always rolled back: see PreviewTransaction.run. */
  async previewTransaction<Result>(
    work: (transaction: PreviewTransaction) => Promise<Result>,
    viewer: Viewer = OUTSIDER,
    readsRoles = false,
  ): Promise<Result> {
    this.refuseInVain();
    try {
      return await PreviewTransaction.run(this.dataSource, work, viewer, readsRoles);
    } catch (error) {
      throw databaseError(error);
    }
  }

  /** Called when the server hangs: waiting requests fail, and new ones are rejected until goOn is called. */
  giveUp(): void {
    this.isAway = true;
    this.dataSource.destroyConnections();
  }

  get receivedBytes(): number {
    return this.dataSource.receivedBytes;
  }

  /** Called when the server accepts no writes: running statements complete, and new ones are rejected. */
  pause(): void {
    this.isAway = true;
  }

  goOn(): void {
    this.isAway = false;
  }

  /** Called when the state of the mirror changed without a new revision. */
  noteConfirmed(): void {
    this.revision.onUnknownRevision();
  }

  /** While sessions are shared, statements are rejected and this process is not ready. */
  noteSharedSessions(isShared: boolean): void {
    this.hasSharedSessions = isShared;
  }

  private refuseInVain(): void {
    // The data source is closed when the service stops.
    if (!this.dataSource.isInitialized) throw new ServiceUnavailableError('The service is ending');
    if (this.isAway || this.hasSharedSessions)
      throw new ServiceUnavailableError('The database cannot be reached at the moment');
  }
}
