import { Inject, Injectable, Logger, type OnModuleDestroy, type OnModuleInit } from '@nestjs/common';
import type { Config } from '../../config/config.js';
import { CONFIG } from '../../config/config.module.js';
import { Database } from '../database.js';
import { Freshness, type ReportedFreshness } from './freshness.js';
import { DatabaseHeartbeat } from '../connections/heartbeat.js';
import { type Revision, revisionIn } from './revision.js';
import { pauseReasonOf } from '../statements/database-error.js';
import { IS_COMPLETE, statement } from '../statements/statement.js';

const FORBIDS_FILES = `pg_size_bytes(current_setting('temp_file_limit')) between 0 and 1000000`;

/**
 * SQL expression: whether the database accepts writes. It sorts with little memory, which allocates disk space
 * for a moment. If the disk is full, the sort fails. A session that may write no files sorts a single row.
 */
export const TAKES_WRITES = `(
  with little as materialized (select set_config('work_mem', '64kB', true))
  select count(numbers.each) > 0 and current_setting('transaction_read_only') = 'off'
  from little cross join lateral (
    select each from generate_series(1, case when ${FORBIDS_FILES} then 1 else 4000 end) each
    order by each desc) numbers)`;

/** The last confirmation in milliseconds since 1970, and the seconds since then by the database. */
const AS_OF = '(extract(epoch from as_of) * 1000)::float8';
const AGE = 'extract(epoch from clock_timestamp() - as_of)::float8';

const READ_REVISION = statement(
  `select revision, revision_uuid, ${AS_OF}, ${AGE}, hides, hides or hides_in_log
   from mirror_state where ${IS_COMPLETE}`,
);

/** The query of the heartbeat. It returns one row even before the first revision. */
const HEARTBEAT_QUERY = `
  select s.number, s.id, s."asOf", s.age, s.hides, s."hidesInLog", ${TAKES_WRITES} as "takesWrites"
  from (values (1)) one left join (
    select revision as number, revision_uuid as id, ${AS_OF} as "asOf", ${AGE} as age, hides,
      hides or hides_in_log as "hidesInLog" from mirror_state) s on ${IS_COMPLETE}`;

interface State {
  readonly number: number | null;
  readonly id: string | null;
  readonly asOf: number | null;
  readonly age: number | null;
  readonly hides: boolean | null;
  readonly hidesInLog: boolean | null;
}

interface Seen extends State {
  readonly takesWrites: boolean;
}

type StateRow = [
  number: number | null,
  id: string | null,
  asOf: number | null,
  age: number | null,
  hides: boolean | null,
  hidesInLog: boolean | null,
];

const NO_STATE: StateRow = [null, null, null, null, null, null];

/** The channel that announces a new revision. Only processes of the previous release read the payload. */
export const REVISION_CHANNEL = 'directory_revision';

/** Milliseconds between two queries without a notification: a pooler in between may drop notifications. */
const INTERVAL = 1000;

/**
 * The current revision of the mirror, without a query for each request. This process knows its own revisions
 * at once, and those of other processes usually within moments and at most a second later.
 */
@Injectable()
export class Revisions implements OnModuleInit, OnModuleDestroy {
  private readonly stopping = new AbortController();
  private listening: Promise<void> = Promise.resolve();
  /** Whether the server answers. Otherwise there may be a revision that this process does not know. */
  private isHeard = false;
  /** Number of revisions that this process is applying. */
  private changing = 0;
  readonly freshness = new Freshness();
  private readonly logger = new Logger('Database');
  /** Why the database is not used although it answers; null if it is used. */
  private pausedFor: string | null = null;

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    private readonly database: Database,
  ) {}

  async onModuleInit(): Promise<void> {
    if (this.config.database.kind === 'postgres') this.listening = this.listen(this.config.database.url);
    else {
      this.database.revision.onUnknownRevision = () => {
        // If this fails, the next reader queries again.
        this.readRevision().catch(() => undefined);
      };
      await this.readRevision();
    }
  }

  async onModuleDestroy(): Promise<void> {
    this.stopping.abort();
    await this.listening;
  }

  /** The revision; null while it is unknown or changing. */
  get current(): Revision | null {
    return this.changing > 0 || !this.isHeard ? null : this.database.revision.known;
  }

  /** Whether the revision that was read last hides something. Only a hint: statements find out themselves. */
  get hides(): boolean {
    return this.database.hides;
  }

  /** The time before which every change of the directory is in this revision; null for an older revision. */
  async asOfRevision(id: string): Promise<Date | null> {
    const known = this.freshness.asOfRevision(id);
    if (known !== null) return known;
    await this.readState();
    return this.freshness.asOfRevision(id);
  }

  /** Seconds since the last confirmation of the mirror. Null: no revision. Throws ServiceUnavailableError. */
  async readAge(): Promise<number | null> {
    const { current } = this;
    if (current === null || this.freshness.asOfRevision(current.id) === null) await this.readState();
    return this.freshness.age;
  }

  noteConfirmed(): void {
    this.database.noteConfirmed();
  }

  /** Applies a revision and returns it. `current` is null until this has completed. */
  async change(apply: () => Promise<Revision>): Promise<Revision> {
    this.changing++;
    try {
      const revision = await apply();
      this.database.revision.noteApplied(revision);
      this.database.revision.onUnknownRevision();
      return revision;
    } catch (error) {
      // The revision may have been applied nevertheless. The next query finds out.
      this.isHeard = false;
      if (this.config.database.kind === 'pglite') await this.readRevision().catch(() => undefined);
      throw error;
    } finally {
      this.changing--;
    }
  }

  /** Listens on a connection of its own, which also detects a hanging server for all waiting requests. */
  private listen(url: string): Promise<void> {
    const query = { url, firstSql: `listen ${REVISION_CHANNEL}`, text: HEARTBEAT_QUERY, interval: INTERVAL };
    const { revision } = this.database;
    const heartbeat = new DatabaseHeartbeat<Seen>(query, {
      onQuery: () => {
        revision.beginQuery();
      },
      onAnswer: (seen) => {
        if (seen?.takesWrites !== true) this.pause('it can only be read');
        else if (!this.goOn(seen)) heartbeat.queryNow();
      },
      onNotification: () => {
        heartbeat.queryNow();
      },
      onLost: (error) => {
        this.isHeard = false;
        const reason = pauseReasonOf(error);
        if (reason !== null) this.pause(reason);
        // The server is unavailable. Each reader gets the error of its own statement.
        else this.database.goOn();
      },
      onDoubt: () => {
        this.isHeard = false;
      },
      onReconnect: () => {
        this.database.onReconnect();
      },
      onHang: () => {
        this.database.giveUp();
      },
      receivedBytes: () => this.database.receivedBytes,
    });
    revision.onUnknownRevision = () => {
      heartbeat.queryNow();
    };
    return heartbeat.run(this.stopping.signal);
  }

  /** @returns false if something happened since the query, so that the server has to be queried again */
  private goOn(seen: State): boolean {
    this.database.goOn();
    const isReliable = this.database.revision.noteAnswer(revisionIn(seen));
    if (isReliable) {
      this.isHeard = true;
      this.freshness.note(freshnessIn(seen));
      this.noteHidden(seen);
    }
    if (this.pausedFor !== null) this.logger.log('The database accepts writes again and is queried');
    this.pausedFor = null;
    return isReliable;
  }

  /** Stops using a read-only or full database: the age of its data would be unknown. */
  private pause(reason: string): void {
    this.isHeard = false;
    this.database.pause();
    if (this.pausedFor !== reason) this.logger.warn(`The database is not queried at the moment: ${reason}`);
    this.pausedFor = reason;
  }

  /** Queries the embedded database, which no other process changes. */
  private async readRevision(): Promise<void> {
    const { revision } = this.database;
    let isReliable = false;
    while (!isReliable) {
      revision.beginQuery();
      isReliable = revision.noteAnswer(revisionIn(await this.readState()));
    }
    this.isHeard = true;
  }

  private noteHidden({ hides, hidesInLog }: State): void {
    this.database.hides = hides === true;
    this.database.hidesInLog = hidesInLog === true;
  }

  private async readState(): Promise<State> {
    const rows = await this.database.read<StateRow>(READ_REVISION);
    const [[number, id, asOf, age, hides, hidesInLog] = NO_STATE] = rows;
    const state = { number, id, asOf, age, hides, hidesInLog };
    this.freshness.note(freshnessIn(state));
    this.noteHidden(state);
    return state;
  }
}

function freshnessIn({ id, asOf, age }: State): ReportedFreshness | null {
  return id === null || asOf === null || age === null ? null : { id, asOf, age };
}
