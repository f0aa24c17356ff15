import { setTimeout as sleep } from 'node:timers/promises';
import { Inject, Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import type { KeySeal } from '../common/key-seal.js';
import type { DirectoryDataSource } from './connections/data-source.js';
import { ReadServer } from './connections/read-server.js';
import { Revisions } from './revisions.js';
import { databaseError, LostRaceError, NothingReadError } from './statements/database-error.js';
import { PreviewTransaction } from './statements/preview-transaction.js';
import {
  IS_COMPLETE,
  type PageReader,
  revisionOf,
  type Statement,
  statement,
} from './statements/statement.js';
import { ifWrittenWith } from './visibility/rules-in-mirror.js';
import { OUTSIDER, seesEverything, type Viewer } from './visibility/viewer.js';
import { forViewer, isRestricted, type VisibilitySource } from './visibility/visible-statement.js';

/** Attempts of a preview that conflicts with a revision or another preview, and milliseconds before the second one. */
const MAX_ATTEMPTS = 3;
const RETRY_PAUSE_MS = 25;

/** Read access and transactions for all other modules. */
@Injectable()
export class Database implements VisibilitySource {
  constructor(
    @Inject(DataSource) private readonly dataSource: DirectoryDataSource,
    readonly revisions: Revisions = new Revisions(dataSource),
    @Inject(ReadServer) private readonly readServer: ReadServer | null = null,
  ) {}

  get rules(): number {
    return this.revisions.rules;
  }

  get hides(): boolean {
    return this.revisions.hides;
  }

  get seal(): KeySeal {
    return this.dataSource.seal;
  }

  /** Statements that return their revision run on the server for reading, all others on the primary (docs/adr/0021). */
  async read<Row extends unknown[]>(statement: Statement, values: readonly unknown[] = []): Promise<Row[]> {
    const { revisions, readServer, dataSource } = this;
    // The first revision locks the tables that it fills, possibly for minutes. No statement must wait for it.
    if (statement.returnsRevision && revisions.isNone && !(await this.isRead(0)))
      throw new NothingReadError();
    if (readServer !== null && statement.returnsRevision) {
      const read = await readServer.read<Row>(statement, values, revisions);
      if (read !== null) return read;
    }
    const rows = await dataSource.statements.read<Row>(statement, values);
    const id = revisionOf(statement, rows);
    if (id !== null) revisions.note(id);
    return rows;
  }

  /** Whether viewers from whom rules can hide something get answers: see ifWrittenWith. */
  async isRead(rules = this.rules): Promise<boolean> {
    const find = statement(
      `select ${ifWrittenWith(rules, 'revision_uuid')} from mirror_state where ${IS_COMPLETE}`,
    );
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
    const { previewPool, statements, timeLimits } = this.dataSource;
    const { seal, rules, hides } = this;
    const connections = { previewPool, statements, timeLimits, seal, rules, hides };
    for (let attempt = 1; ; attempt++)
      try {
        return await PreviewTransaction.run(connections, work, viewer, readsRoles);
      } catch (error) {
        if (!(error instanceof LostRaceError) || attempt === MAX_ATTEMPTS) throw databaseError(error);
        await sleep(RETRY_PAUSE_MS * attempt);
      }
  }
}

/** Reads the mirror for one viewer: every statement sees only what the viewer may see (docs/adr/0038). */
export class VisibleReader implements PageReader {
  /** Whether a statement was run for the viewer, so that other viewers may get other rows. */
  isPersonal = false;

  constructor(
    private readonly source: VisibilitySource,
    readonly viewer: Viewer,
  ) {}

  get seal(): KeySeal {
    return this.source.seal;
  }

  read<Row extends unknown[]>(asked: Statement, values: readonly unknown[] = []): Promise<Row[]> {
    const { source, viewer } = this;
    if (isRestricted(source, viewer) && !seesEverything(viewer)) this.isPersonal = true;
    return source.read<Row>(...forViewer(asked, values, viewer, source, source.rules));
  }
}
