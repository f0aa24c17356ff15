import { setTimeout as sleep } from 'node:timers/promises';
import {
  type BeforeApplicationShutdown,
  Inject,
  Injectable,
  Logger,
  type OnModuleDestroy,
} from '@nestjs/common';
import { DataSource } from 'typeorm';
import { codeOf } from '../common/finding.js';
import { Incident } from '../common/incident.js';
import type { Config } from '../config/config.js';
import { CONFIG } from '../config/config.module.js';
import { numberOfRules } from '../config/model/mapping.js';
import type { PresetName } from '../config/model/presets/presets.js';
import type { DirectoryDataSource } from '../database/connections/data-source.js';
import { ServiceUnavailableError } from '../common/errors.js';
import { settlesWithin } from '../common/settles-within.js';
import { databaseError } from '../database/statements/database-error.js';
import type { Writer } from '../database/statements/statement.js';
import { keepValueIndexes, valueIndexesOf } from '../database/fields/filters.js';
import { passwordRisk } from '../sources/ldap/ldap-servers.js';
import { Follower, RunReporter } from './follower.js';
import { NotLeadingError, type Term, withLeadership } from './leadership.js';
import { pruneChanges } from './revision/write-changes.js';
import { OutdatedRevisionError } from './revision/write-revision.js';
import { MirrorState } from './status/mirror-state.js';
import { Synchronizer } from './synchronizer.js';

/** Milliseconds between the end of a term and the next attempt to lead. */
const PAUSE_MS = 1000;
/** Milliseconds that the synchronization may take to stop. */
const STOP_TIMEOUT_MS = 10_000;
/** Milliseconds between two deletions of expired changes, each of a day of the log at most. */
const PRUNE_INTERVAL_MS = 3_600_000;

/** Keeps the mirror equal to the directory in one process at a time, while it runs. */
@Injectable()
export class MirrorFollowing implements OnModuleDestroy, BeforeApplicationShutdown {
  private readonly logger = new Logger('Mirror');
  private readonly stopping = new AbortController();
  private following: Promise<void> = Promise.resolve();
  private readonly leaderTasks: ((signal: AbortSignal) => Promise<void>)[] = [];
  private isWaiting = false;
  private readonly databaseAway = new Incident(this.logger);
  private onOtherServer: (kind: PresetName) => void = () => undefined;
  /** Resolves with the kind of the server if it differs from the one whose preset applies. */
  readonly otherServer = new Promise<PresetName>((resolve) => {
    this.onOtherServer = resolve;
  });
  private term: Term | null = null;

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    @Inject(DataSource) private readonly dataSource: DirectoryDataSource,
    private readonly synchronizer: Synchronizer,
    private readonly state: MirrorState,
  ) {}

  /** Runs work of another module while this process leads, until its signal is aborted. The work must not throw. */
  whileLeading(work: (signal: AbortSignal) => Promise<void>): void {
    this.leaderTasks.push(work);
  }

  /** Starts to follow. Resolves after the first scan, or when another process leads, or the database is away. */
  async start(): Promise<void> {
    await new Promise<void>((settled) => {
      this.following = this.follow(settled);
    });
  }

  get isLeading(): boolean {
    return this.term !== null && !this.term.signal.aborted;
  }

  /** Fences a transaction of a task of the leader. @throws NotLeadingError if this process no longer leads */
  async admit(writer: Writer): Promise<void> {
    const rows = await writer.query<object[]>('select from mirror_state where leader = $1 for share', [
      this.term?.number ?? null,
    ]);
    if (rows.length === 0) throw new NotLeadingError();
  }

  onModuleDestroy(): void {
    this.stopping.abort();
  }

  /** Waits for the end of a current run before the database is closed. */
  async beforeApplicationShutdown(): Promise<void> {
    if (!(await settlesWithin(STOP_TIMEOUT_MS, this.following)))
      this.logger.warn('The synchronization does not end');
  }

  private async follow(settled: () => void): Promise<void> {
    const { signal } = this.stopping;
    const reporter = new RunReporter();
    const { source } = this.config.directory;
    const risk = source.kind === 'ldap' ? passwordRisk(source) : null;
    if (risk !== null) this.logger.warn(risk);
    const rules = numberOfRules(this.config.directory.mapping);
    const onWait = () => {
      this.databaseAway.end('The database is reachable again');
      if (!this.isWaiting)
        this.logger.log('Another process runs the synchronization: this process takes over when it ends');
      this.isWaiting = true;
      settled();
    };
    while (!signal.aborted) {
      try {
        const lead = (term: Term) => this.lead(term, reporter, settled);
        await withLeadership(this.dataSource.url, lead, signal, rules, onWait);
      } catch (error) {
        if (!this.stopping.signal.aborted) await this.reportError(error, reporter);
        settled();
      }
      this.term = null;
      await sleep(PAUSE_MS, undefined, { signal }).catch(() => undefined);
    }
    settled();
  }

  private async lead(term: Term, reporter: RunReporter, settled: () => void): Promise<void> {
    this.term = term;
    this.isWaiting = false;
    this.databaseAway.end('The database is reachable again');
    await this.keepIndexes(term);
    const over = new AbortController();
    const either = AbortSignal.any([term.signal, over.signal]);
    const tasks = [this.prune(either), ...this.leaderTasks.map((work) => work(either))];
    const follower = new Follower(
      {
        config: this.config.directory,
        synchronizer: this.synchronizer,
        state: this.state,
        reporter,
        onOtherServer: this.onOtherServer,
      },
      term,
      settled,
    );
    try {
      await follower.follow();
    } finally {
      over.abort();
      await Promise.all(tasks);
    }
  }

  /** Deletes expired changes, also while the directory cannot be read. */
  private async prune(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      // The next attempt follows in an hour.
      await pruneChanges(this.dataSource, this.config.directory.changesDays).catch(() => undefined);
      await sleep(PRUNE_INTERVAL_MS, undefined, { signal, ref: false }).catch(() => undefined);
    }
  }

  /** Creates the indexes for filters by custom fields before the mirror is written: its `analyze` would wait for the creation. */
  private async keepIndexes({ session, signal }: Term): Promise<void> {
    const { users, groups } = this.config.directory.mapping;
    try {
      await keepValueIndexes(session, valueIndexesOf({ users: users.fields, groups: groups.fields }));
    } catch (error) {
      if (signal.aborted) return;
      // The next term begins with them, too.
      if (databaseError(error) instanceof ServiceUnavailableError) throw error;
      const reason = error instanceof Error ? error.message : String(error);
      this.logger.warn(`Filters by custom fields lack indexes until the next start: ${reason}`);
    }
  }

  /** Logs why this process no longer follows. What the database rejects, it rejects again: that becomes the state. */
  private async reportError(error: unknown, reporter: RunReporter): Promise<void> {
    const reason = error instanceof Error ? error.message : String(error);
    if (error instanceof NotLeadingError || error instanceof OutdatedRevisionError)
      this.logger.warn('Another process has written a revision, or has taken over the synchronization');
    // With a full disk (53100), the database is read as before.
    else if (codeOf(error) !== '53100' && databaseError(error) instanceof ServiceUnavailableError)
      this.databaseAway.note(`Synchronization waits for the database: ${reason}`, 'error');
    else {
      reporter.reportFailure(reason, 'error');
      const shown = 'The revision cannot be written. The log of the service has the reason';
      await this.state.markFailing(shown, this.term?.number ?? 0).catch(() => undefined);
    }
  }
}
