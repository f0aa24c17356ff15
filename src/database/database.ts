import { Inject, Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { ServiceUnavailableError } from '../common/errors.js';
import { KeySeal } from '../common/key-seal.js';
import type { Config } from '../config/config.js';
import { CONFIG } from '../config/config.module.js';
import { numberOfRules } from '../config/model/mapping.js';
import type { DirectoryDataSource } from './connections/data-source.js';
import { ReadServer } from './connections/read-server.js';
import { CurrentRevision, NothingReadError, revisionOf } from './revisions/revision.js';
import { databaseError } from './statements/database-error.js';
import { PreviewTransaction } from './statements/preview-transaction.js';
import { IS_COMPLETE, type Reader, type Statement, statement } from './statements/statement.js';
import { RulesInMirror } from './visibility/rules-in-mirror.js';
import { OUTSIDER, seesEverything, type Viewer } from './visibility/viewer.js';
import { forViewer, isRestricted, type VisibilitySource } from './visibility/visible-statement.js';

const READ_ID = statement(`select revision_uuid from mirror_state where ${IS_COMPLETE}`);

/** Read access and transactions for all other modules. */
@Injectable()
export class Database implements VisibilitySource {
  readonly rules: RulesInMirror;
  /** Whether the mirror was written with rules of visibility, by this process or another one. Rules are assumed until it is known. */
  isWrittenWithRules = true;
  private readonly hasRules: boolean;
  private currentSeal: KeySeal | null = null;

  constructor(
    @Inject(DataSource) private readonly dataSource: DirectoryDataSource,
    readonly revision: CurrentRevision = new CurrentRevision(),
    @Inject(ReadServer) private readonly readServer: ReadServer | null = null,
    @Inject(CONFIG) config: Pick<Config, 'directory'> | null = null,
  ) {
    const rules = config === null ? 0 : numberOfRules(config.directory.mapping);
    this.hasRules = rules > 0;
    this.rules = new RulesInMirror(this, rules);
  }

  /** Whether rules can hide something from some viewers: those of the model, or those of another process that leads. */
  get hides(): boolean {
    return this.hasRules || this.isWrittenWithRules;
  }

  /** Seals the numbers of rows in cursors. */
  get seal(): KeySeal {
    return (this.currentSeal ??= new KeySeal(this.dataSource.cursorKey));
  }

  /** The key differs after the restore of another database. */
  noteCursorKey(key: Buffer | null): void {
    if (key === null || key.equals(this.dataSource.cursorKey)) return;
    this.dataSource.cursorKey = key;
    this.currentSeal = null;
  }

  /** Statements that return their revision run on the server for reading, all others on the primary (docs/adr/0021). */
  async read<Row extends unknown[]>(statement: Statement, values: readonly unknown[] = []): Promise<Row[]> {
    if (statement.returnsRevision && this.revision.isNone) await this.refuseBeforeFirst();
    if (this.readServer !== null && statement.returnsRevision) {
      const read = await this.readServer.read<Row>(statement, values, this.revision);
      if (read !== null) return read;
    }
    this.requireDatabase();
    const rows = await this.dataSource.statements.read<Row>(statement, values);
    const id = revisionOf(statement, rows);
    if (id !== null) this.revision.noteRead(id);
    return rows;
  }

  /** Runs work that needs the database, now or when it is open: see DirectoryDataSource. */
  whenOpen(work: () => unknown): Promise<void> {
    return this.dataSource.whenOpen(work);
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
    this.requireDatabase();
    const { previewPool, statements, timeLimits } = this.dataSource;
    try {
      return await this.rules.readFor(viewer, (mark) => {
        const connections = { previewPool, statements, timeLimits, seal: this.seal, mark, hides: this.hides };
        return PreviewTransaction.run(connections, work, viewer, readsRoles);
      });
    } catch (error) {
      throw databaseError(error);
    }
  }

  /** Called when the state of the mirror changed without a new revision. */
  noteConfirmed(): void {
    this.revision.onDoubt();
  }

  /** The first revision locks the tables that it fills, possibly for minutes. No statement must wait for it. */
  private async refuseBeforeFirst(): Promise<void> {
    this.requireDatabase();
    const [[id] = [null]] = await this.dataSource.statements.read<[string | null]>(READ_ID, []);
    if (id === null) throw new NothingReadError();
  }

  private requireDatabase(): void {
    // It is opened after the start, and closed when the service stops.
    if (!this.dataSource.isInitialized) throw new ServiceUnavailableError('The database is not open');
  }
}

/** Reads the mirror for one viewer: every statement sees only what the viewer may see (docs/adr/0038). */
export class VisibleReader implements Reader {
  /** Whether a statement was run for the viewer, so that other viewers may get other rows. */
  isPersonal = false;

  constructor(
    private readonly source: VisibilitySource,
    readonly viewer: Viewer,
  ) {}

  read<Row extends unknown[]>(asked: Statement, values: readonly unknown[] = []): Promise<Row[]> {
    const { source, viewer } = this;
    if (isRestricted(source, viewer) && !seesEverything(viewer)) this.isPersonal = true;
    return source.rules.readFor(viewer, (mark) =>
      source.read<Row>(...forViewer(asked, values, viewer, source, mark)),
    );
  }
}
