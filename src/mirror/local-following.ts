import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type BeforeApplicationShutdown,
  Inject,
  Injectable,
  Logger,
  type OnModuleDestroy,
} from '@nestjs/common';
import { DataSource } from 'typeorm';
import { Incident } from '../common/incident.js';
import type { Config } from '../config/config.js';
import type { PresetName } from '../config/model/presets/presets.js';
import { CONFIG } from '../config/config.module.js';
import { numberOfRules } from '../config/model/mapping.js';
import type { DirectoryDataSource } from '../database/connections/data-source.js';
import { NotLeadingError } from '../database/leadership/leader-lease.js';
import { settlesWithin } from '../database/connections/settles-within.js';
import { type Term, withLeadership } from '../database/leadership/leader-session.js';
import { LdifSource } from '../sources/ldif/ldif-source.js';
import { LdapDirectory } from '../sources/ldap/ldap-directory.js';
import { MirrorFollowing } from './mirror-following.js';
import { describeChangedFields } from './status/changed-fields.js';
import { type FollowerState, readFollowerState } from './status/follower-state.js';
import { FileFollower } from './follow/file-follower.js';
import type { Follower } from './follow/follower.js';
import { LdapFollower } from './follow/ldap-follower.js';
import { valueIndexesOf } from '../database/fields/value-indexes.js';
import { Leadership } from './sync/leadership.js';
import { AWAITS_RULES, awaitsRules, MirrorState } from './status/mirror-state.js';
import { RestartingFollower } from './follow/restarting-follower.js';
import { RunReporter } from './sync/run-reporter.js';
import { Synchronizer } from './sync/synchronizer.js';

/**
 * Milliseconds that the synchronization may take to stop. Then its database connections are considered lost.
 */
const STOP_TIMEOUT_MS = 10_000;
/** A clock that leaps ahead by more than a day is followed an hour later: see advance in changes/retention.ts. */
const PRUNE_INTERVAL_MS = 3_600_000;
/** It returns no row while a transaction writes to the mirror. */
const LOCK_STATE = 'select from mirror_state for update skip locked';

/** Keeps the mirror synchronized with its source in this process, while it runs. */
@Injectable()
export class LocalFollowing extends MirrorFollowing implements OnModuleDestroy, BeforeApplicationShutdown {
  private readonly logger = new Logger('Mirror');
  private readonly stopping = new AbortController();
  private following: Promise<void> = Promise.resolve();
  private readonly leaderTasks: ((signal: AbortSignal) => Promise<void>)[] = [];
  private isWaiting = false;
  private readonly databaseAway = new Incident(this.logger);
  private onOtherServer: (kind: PresetName) => void = () => undefined;
  readonly otherServer = new Promise<PresetName>((resolve) => {
    this.onOtherServer = resolve;
  });

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    @Inject(DataSource) private readonly dataSource: DirectoryDataSource,
    private readonly synchronizer: Synchronizer,
    private readonly state: MirrorState,
    private readonly leadership: Leadership,
  ) {
    super();
  }

  /** Runs work of another module while this process leads, until its signal is aborted. The work must not throw. */
  whileLeading(work: (signal: AbortSignal) => Promise<void>): void {
    this.leaderTasks.push(work);
  }

  async start(): Promise<void> {
    const follower = this.makeFollower();
    await this.warnOfModel();
    await new Promise<void>((settled) => {
      this.following = this.followAlone(follower, settled);
    });
  }

  /** Warns of parts of the model that take effect only with the next reading. */
  private async warnOfModel(): Promise<void> {
    const { directory, modelFile } = this.config;
    if (modelFile === null) return;
    try {
      const status = await this.state.get();
      if (awaitsRules(status, directory)) this.logger.warn(AWAITS_RULES);
      const { manager } = this.dataSource;
      for (const line of await describeChangedFields(manager, status, this.config)) this.logger.warn(line);
    } catch {
      // The follower reports an unavailable database.
    }
  }

  readState(): Promise<FollowerState> {
    return Promise.resolve(readFollowerState(this.synchronizer));
  }

  onModuleDestroy(): void {
    this.stopping.abort();
  }

  /** Waits for the end of a current run before the database is closed. */
  async beforeApplicationShutdown(): Promise<void> {
    await this.following;
  }

  private makeFollower(): Follower {
    const { synchronizer, state } = this;
    const { directory: config } = this.config;
    const { source } = config;
    const reporter = new RunReporter(async () => (await state.get()).revision);
    if (source.kind === 'file') {
      return new FileFollower(config, new LdifSource(config, source), synchronizer, state, reporter);
    }
    const { manager } = this.dataSource;
    const directory = new LdapDirectory(config, source);
    const { onOtherServer } = this;
    return new LdapFollower(source, {
      config,
      directory,
      manager,
      synchronizer,
      state,
      reporter,
      onOtherServer,
    });
  }

  /** One process synchronizes, and the others wait until it ends. */
  private followAlone(follower: Follower, settled: () => void): Promise<void> {
    const { database, directory } = this.config;
    const { signal } = this.stopping;
    const restarting = new RestartingFollower(follower, this.dataSource.manager, directory);
    const work = async (term: Term) => {
      this.isWaiting = false;
      this.noteDatabase();
      const following = this.leadership.during(term, () => this.lead(restarting, term.signal, settled));
      const breaking = this.breakOffLater(term.signal, following);
      await following.finally(() => breaking);
    };
    return withLeadership(database.url, work, signal, {
      rules: numberOfRules(directory.mapping),
      onWait: () => {
        this.noteDatabase();
        if (!this.isWaiting)
          this.logger.log('Another process runs the synchronization: this process takes over when it ends');
        this.isWaiting = true;
        settled();
      },
      onEvict: () => {
        this.logger.warn(
          'The process that runs the synchronization does not answer: its sessions were ended',
        );
      },
      onTrouble: (error) => {
        this.reportError(error);
        settled();
      },
      onLeaseLock: (sessions) => {
        this.noteLeaseLock(sessions);
        if (sessions !== null) settled();
      },
      isWaiting: () => this.leadership.waitingSeconds !== null,
    });
  }

  private async lead(follower: Follower, ending: AbortSignal, settled: () => void): Promise<void> {
    await this.keepIndexes(ending);
    const over = new AbortController();
    const either = AbortSignal.any([ending, over.signal]);
    const tasks = [this.prune(either), ...this.leaderTasks.map((work) => work(either))];
    try {
      await follower.follow(ending, settled);
    } finally {
      over.abort();
      await Promise.all(tasks);
    }
  }

  /** Deletes what has expired although the directory cannot be read, or a plan is held: runs delete only when they succeed. */
  private async prune(signal: AbortSignal): Promise<void> {
    for (;;) {
      await sleep(PRUNE_INTERVAL_MS, undefined, { signal, ref: false }).catch(() => undefined);
      if (signal.aborted) return;
      // The follower reports an unavailable database, and another leader deletes itself. A run that applies a plan deletes as well.
      const isFree = await this.dataSource.query<unknown[]>(LOCK_STATE).catch(() => []);
      if (isFree.length > 0) await this.synchronizer.prune(signal).catch(() => undefined);
    }
  }

  /**
   * Creates the indexes for filters by custom fields before the mirror is written: its `analyze` would wait for the creation,
   * which waits for transactions that write.
   */
  private async keepIndexes(signal: AbortSignal): Promise<void> {
    const { directory } = this.config;
    try {
      await this.dataSource.keepValueIndexes(
        [
          ...valueIndexesOf('users', directory.mapping.users.fields),
          ...valueIndexesOf('groups', directory.mapping.groups.fields),
        ],
        signal,
      );
    } catch (error) {
      if (signal.aborted) return;
      const reason = error instanceof Error ? error.message : String(error);
      this.logger.warn(`Filters by custom fields lack indexes until the next start: ${reason}`);
    }
  }

  /**
   * Closes the database connections if the work does not end in time: it may wait for a response that never
   * arrives, because a network that drops packets notifies neither side.
   */
  private async breakOffLater(signal: AbortSignal, following: Promise<void>): Promise<void> {
    const ended = new AbortController();
    const end = () => {
      ended.abort();
    };
    following.then(end, end);
    const either = AbortSignal.any([signal, ended.signal]);
    if (!either.aborted) await once(either, 'abort');
    if (await settlesWithin(STOP_TIMEOUT_MS, following)) return;
    this.logger.warn('The synchronization does not end: its connections to the database are closed');
    this.dataSource.destroyConnections();
  }

  private noteLeaseLock(sessions: readonly string[] | null): void {
    if (!this.leadership.noteWaiting('lease', sessions !== null)) return;
    if (sessions === null) this.logger.log('The synchronization no longer waits for a lock');
    else
      this.logger.warn(
        `The synchronization waits for a lock that another session of the database holds (${sessions.join('; ')})`,
      );
  }

  private noteDatabase(): void {
    this.databaseAway.end('The database is reachable again');
  }

  private reportError(error: unknown): void {
    const reason = error instanceof Error ? `: ${error.message}` : '';
    if (error instanceof NotLeadingError)
      this.logger.warn('Another process has taken over the synchronization');
    else this.databaseAway.note(`Synchronization waits for the database${reason}`, 'error');
  }
}
