import { setImmediate as nextTurn } from 'node:timers/promises';
import type { PoolClient, QueryResult } from 'pg';
import type { KeySeal } from '../../common/cursor.js';
import { ServiceError, ServiceUnavailableError } from '../../common/errors.js';
import { databaseError, LostRaceError, NothingReadError } from './database-error.js';
import type { DirectoryDataSource } from '../connections/data-source.js';
import type { Reader, Statement, Writer } from './statement.js';
import type { Revisions } from '../revisions.js';
import * as viewers from '../visibility/viewer.js';
import { ifWrittenWith } from '../visibility/rules-in-mirror.js';
import { forViewer } from '../visibility/visible-statement.js';

/** The mirror as it would be after a change: a transaction that is always rolled back (docs/adr/0015). */
export class PreviewTransaction implements Reader, Writer {
  /** Settles when the last statement has been answered. */
  private last: Promise<unknown> = Promise.resolve();
  /** Why no statement is sent: after an error, the server rejects all further ones until a rollback to the savepoint. */
  private failure: Error | null = null;
  /** A conflict: the whole transaction has to run again, not only the change behind the savepoint. */
  private race: LostRaceError | null = null;
  /** When no further statement is sent, on the clock of `performance.now()`. */
  private readonly latest: number;
  /** The id of the revision that the transaction sees; null before it has begun. */
  revision: string | null = null;
  counter: { statements: number } | null = null;
  /** The viewer of statements; null if they do not depend on it. The preview itself does not change what it sees. */
  fixedViewer: viewers.FixedViewer | null = null;

  private constructor(
    private readonly connection: PoolClient,
    private readonly dataSource: DirectoryDataSource,
    private readonly hides: boolean,
  ) {
    this.latest = performance.now() + dataSource.timeLimits.preview;
  }

  /** Runs `work` in a transaction that is always rolled back. @throws LostRaceError after a conflict, even if `work` has caught it */
  static async run<Result>(
    dataSource: DirectoryDataSource,
    { rules, hides }: Pick<Revisions, 'rules' | 'hides'>,
    work: (transaction: PreviewTransaction) => Promise<Result>,
    viewer: viewers.Viewer,
    readsRoles: boolean,
  ): Promise<Result> {
    const connection = await dataSource.previewPool.connect();
    const transaction = new PreviewTransaction(connection, dataSource, hides);
    try {
      await transaction.send(() => transaction.begin(viewer, readsRoles, rules));
      const result = await work(transaction);
      if (transaction.race !== null) throw transaction.race;
      return result;
    } catch (error) {
      throw transaction.race ?? error;
    } finally {
      await transaction.end();
    }
  }

  read<Row extends unknown[]>(asked: Statement, values: readonly unknown[] = []): Promise<Row[]> {
    const { fixedViewer, hides } = this;
    if (fixedViewer === null && asked.readsViewer) throw new Error('The roles of the viewer were not read');
    const [statement, all] =
      fixedViewer === null ? [asked, values] : forViewer(asked, values, fixedViewer, hides);
    return this.send(() => this.dataSource.statements.readOn<Row>(this.connection, statement, all));
  }

  get seal(): KeySeal {
    return this.dataSource.seal;
  }

  /** Whether its statements run for its viewer, so that other viewers may get other rows. */
  get isPersonal(): boolean {
    return this.fixedViewer !== null && !viewers.seesEverything(this.fixedViewer);
  }

  query<Rows extends object[]>(text: string, values?: unknown[]): Promise<Rows> {
    return this.send(async () => (await this.connection.query(text, values)).rows as Rows);
  }

  /** Runs one change of several. If it throws, its effects are undone, and those before it remain. */
  async savepoint<Result>(work: () => Promise<Result>): Promise<Result> {
    await this.query('savepoint change');
    const { fixedViewer } = this;
    try {
      const result = await work();
      await this.query('release savepoint change');
      return result;
    } catch (error) {
      // Fields that have not received the failure yet send no statement after the rollback.
      await this.settle();
      this.failure = this.race;
      await this.query('rollback to savepoint change; release savepoint change');
      this.fixedViewer = fixedViewer;
      throw error;
    }
  }

  /** Waits for all statements. Sibling fields of a failed field continue for a while. */
  async settle(): Promise<void> {
    let seen: Promise<unknown> | null = null;
    while (seen !== this.last) {
      seen = this.last;
      await seen;
      await nextTurn();
    }
  }

  /** A change in the preview shows the viewer nothing more than before, except this. That of a failed change is undone. */
  addToViewer(added: Partial<viewers.ViewerLists>): void {
    this.fixedViewer &&= viewers.withAdded(this.fixedViewer, added);
  }

  private async begin(viewer: viewers.Viewer, readsRoles: boolean, rules: number): Promise<void> {
    const revision = ifWrittenWith(viewer.seesHidden ? 0 : rules, 'revision_uuid');
    // All statements see one revision. Neither one nor another preview is written until the end: they change the same rows.
    const begin = `begin isolation level repeatable read; set local lock_timeout = ${this.dataSource.timeLimits.lock};
      lock table revisions in share row exclusive mode`;
    const text = `${begin}; select ${revision} as id from mirror_state`;
    // The driver returns one result for each statement of a text; its types say otherwise.
    const results: unknown = await this.connection.query(text);
    const [state] = (results as QueryResult<{ id: string | null }>[]).at(-1)?.rows ?? [];
    this.revision = state?.id ?? null;
    if (this.revision === null) throw new NothingReadError();
    if (!viewers.isRestricted(viewer, this.hides) && !readsRoles) return;
    const { rows } = await this.connection.query<viewers.FixedViewer>(viewers.FIX_VIEWER, [viewer.id]);
    const [roles] = rows;
    if (roles === undefined) throw new Error('The roles of the viewer were not read');
    this.fixedViewer = { ...roles, ...viewer };
  }

  private async end(): Promise<void> {
    this.failure = new ServiceUnavailableError('The preview has ended');
    await this.last;
    try {
      await this.connection.query('rollback');
      this.connection.release();
    } catch {
      // The server rolls back a transaction whose connection is closed.
      this.connection.release(true);
    }
  }

  /** Sends statements one after another, because a failed statement affects those behind it. */
  private send<Result>(statement: () => Promise<Result>): Promise<Result> {
    if (this.counter !== null) this.counter.statements++;
    const sent = this.last.then(async () => {
      if (this.failure !== null) throw this.failure;
      try {
        if (performance.now() > this.latest)
          throw new ServiceError('TIMEOUT', 'The preview took too long: request fewer changes at once');
        return await statement();
      } catch (error) {
        this.failure = databaseError(error);
        if (this.failure instanceof LostRaceError) this.race = this.failure;
        throw this.failure;
      }
    });
    this.last = sent.catch(() => undefined);
    return sent;
  }
}
