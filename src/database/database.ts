import { Inject, Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { ServiceUnavailableError } from '../common/errors.js';
import type { DirectoryDataSource } from './connections/data-source.js';
import { CurrentRevision } from './revisions/current-revision.js';
import { databaseError } from './statements/database-error.js';
import { PreviewTransaction } from './statements/preview-transaction.js';
import type { Reader } from './statements/reader.js';
import { revisionOf } from './revisions/revision.js';
import type { Statement } from './statements/statement.js';

/** How the rest of the house reads, and how it opens a transaction. */
@Injectable()
export class Database implements Reader {
  /** The server takes connections and answers nothing, or answers and takes no writes: it is not asked. */
  private isAway = false;
  /** A pooler gives each transaction another session: nothing works as it should. */
  private hasSharedSessions = false;

  constructor(
    @Inject(DataSource) private readonly dataSource: DirectoryDataSource,
    /** The revision that the server has. */
    readonly revision: CurrentRevision = new CurrentRevision(),
  ) {}

  async read<Row extends unknown[]>(statement: Statement, values: readonly unknown[] = []): Promise<Row[]> {
    this.refuseInVain();
    const rows = await this.dataSource.statements.read<Row>(statement, values);
    const id = revisionOf(statement, rows);
    if (id !== null) this.revision.noteRead(id);
    return rows;
  }

  /** Runs `work` in one transaction, and nothing of it stays when it throws. */
  async transaction<Result>(work: (manager: EntityManager) => Promise<Result>): Promise<Result> {
    try {
      return await this.dataSource.transaction(work);
    } catch (error) {
      throw databaseError(error);
    }
  }

  /** Runs `work` over the mirror as it would be, of which nothing stays: see Overlay.over. */
  async previewTransaction<Result>(
    work: (transaction: PreviewTransaction) => Promise<Result>,
  ): Promise<Result> {
    this.refuseInVain();
    try {
      return await PreviewTransaction.run(this.dataSource, work);
    } catch (error) {
      throw databaseError(error);
    }
  }

  /** The server hangs: whoever waits for it is told so, and nobody waits any more until goOn. */
  giveUp(): void {
    this.isAway = true;
    this.dataSource.destroyConnections();
  }

  /** Bytes that the server has sent on the connections of the pools. */
  get receivedBytes(): number {
    return this.dataSource.receivedBytes;
  }

  /** The server takes no writes: what is under way is answered, and nobody else is until goOn. */
  pause(): void {
    this.isAway = true;
  }

  /** The server has been heard of, and is well. */
  goOn(): void {
    this.isAway = false;
  }

  /** The state of the mirror has changed without a new revision. */
  noteConfirmed(): void {
    this.revision.onDoubt();
  }

  /** While sessions are shared nothing is asked, and this process is not ready. */
  noteSharedSessions(isShared: boolean): void {
    this.hasSharedSessions = isShared;
  }

  private refuseInVain(): void {
    // It is taken away while the service ends.
    if (!this.dataSource.isInitialized) throw new ServiceUnavailableError('The service is ending');
    if (this.isAway || this.hasSharedSessions)
      throw new ServiceUnavailableError('The database cannot be reached at the moment');
  }
}
