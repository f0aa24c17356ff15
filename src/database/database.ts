import { setTimeout as sleep } from 'node:timers/promises';
import { Inject, Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { ServiceError } from '../common/errors.js';
import type { KeySeal } from '../common/cursor.js';
import type { DirectoryDataSource } from './connections/data-source.js';
import { Revisions } from './revisions.js';
import { databaseError, LostRaceError, NothingReadError } from './statements/database-error.js';
import { PreviewTransaction } from './statements/preview-transaction.js';
import { type Reader, revisionOf, type Statement, statement } from './statements/statement.js';
import { ifWrittenWith } from './visibility/rules-in-mirror.js';
import { isRestricted, OUTSIDER, seesEverything, type Viewer } from './visibility/viewer.js';
import { forViewer } from './visibility/visible-statement.js';

/** Attempts of a preview that conflicts with a revision or another preview, and milliseconds before the second one. */
const MAX_ATTEMPTS = 3;
const RETRY_PAUSE_MS = 25;

/** Milliseconds for which the primary answers after an error of the reader endpoint, so that not every request waits for it. */
const REST_MS = 1000;

/** Read access and transactions for all other modules. */
@Injectable()
export class Database {
  /** When the reader endpoint is used again, on the clock of `performance.now()`. */
  private restsUntil = 0;

  constructor(
    @Inject(DataSource) private readonly dataSource: DirectoryDataSource,
    readonly revisions: Revisions = new Revisions(dataSource),
  ) {}

  get seal(): KeySeal {
    return this.dataSource.seal;
  }

  /** Statements that return their revision run on the reader endpoint, all others on the primary (docs/adr/0021). */
  async read<Row extends unknown[]>(statement: Statement, values: readonly unknown[] = []): Promise<Row[]> {
    const { revisions, dataSource } = this;
    // Before the first revision, no statement has an answer.
    if (statement.returnsRevision && revisions.isNone && !(await this.isRead(0)))
      throw new NothingReadError();
    if (statement.returnsRevision && dataSource.readPool !== null) {
      const read = await this.readAtEndpoint<Row>(statement, values);
      if (read !== null) return read;
    }
    const rows = await dataSource.statements.read<Row>(statement, values);
    const id = revisionOf(statement, rows);
    if (id !== null) revisions.note(id);
    return rows;
  }

  /** Null: the primary answers, because the rows are not of the current revision or the endpoint failed. @throws ServiceError TIMEOUT */
  async readAtEndpoint<Row extends unknown[]>(
    statement: Statement,
    values: readonly unknown[],
  ): Promise<Row[] | null> {
    const { known } = this.revisions;
    if (known === null || performance.now() < this.restsUntil) return null;
    try {
      const rows = await this.dataSource.readStatements.read<Row>(statement, values);
      return revisionOf(statement, rows) === known.id ? rows : null;
    } catch (error) {
      if (error instanceof ServiceError && error.code === 'TIMEOUT') throw error;
      if (!(error instanceof NothingReadError)) this.restsUntil = performance.now() + REST_MS;
      return null;
    }
  }

  /** Whether viewers from whom rules can hide something get answers: see ifWrittenWith. */
  async isRead(rules = this.revisions.rules): Promise<boolean> {
    const find = statement(`select ${ifWrittenWith(rules, 'revision_uuid')} from mirror_state`);
    const [[id] = [null]] = await this.dataSource.statements.read<[string | null]>(find, []);
    return id !== null;
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
    for (let attempt = 1; ; attempt++)
      try {
        return await PreviewTransaction.run(this.dataSource, this.revisions, work, viewer, readsRoles);
      } catch (error) {
        if (!(error instanceof LostRaceError) || attempt === MAX_ATTEMPTS) throw databaseError(error);
        await sleep(RETRY_PAUSE_MS * attempt);
      }
  }
}

/** Reads the mirror for one viewer: every statement sees only what the viewer may see (docs/adr/0038). */
export class VisibleReader implements Reader {
  /** Whether a statement was run for the viewer, so that other viewers may get other rows. */
  isPersonal = false;

  constructor(
    private readonly database: Database,
    readonly viewer: Viewer,
  ) {}

  get seal(): KeySeal {
    return this.database.seal;
  }

  read<Row extends unknown[]>(asked: Statement, values: readonly unknown[] = []): Promise<Row[]> {
    const { database, viewer } = this;
    const { hides, rules } = database.revisions;
    if (isRestricted(viewer, hides) && !seesEverything(viewer)) this.isPersonal = true;
    return database.read<Row>(...forViewer(asked, values, viewer, hides, rules));
  }
}
