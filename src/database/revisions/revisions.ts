import { Inject, Injectable, Logger, type OnModuleDestroy, type OnModuleInit } from '@nestjs/common';
import type { Config } from '../../config/config.js';
import { CONFIG } from '../../config/config.module.js';
import { Database } from '../database.js';
import { Freshness, type ToldFreshness } from './freshness.js';
import { Pulse } from '../connections/heartbeat.js';
import { type Revision, revisionIn } from './revision.js';
import { statement } from '../statements/statement.js';
import { isFull, TAKES_WRITES } from '../connections/accepts-writes.js';

/** When the mirror was known to be right, in milliseconds since 1970, and the seconds since then by the clock of the database. */
const AS_OF = '(extract(epoch from as_of) * 1000)::float8';
const AGE = 'extract(epoch from clock_timestamp() - as_of)::float8';

const READ_REVISION = statement(`select revision, revision_uuid, ${AS_OF}, ${AGE} from mirror_state`);

/** What the server is asked again and again: one row, also before the first revision. */
const LOOK = `
  select s.number, s.id, s."asOf", s.age, ${TAKES_WRITES} as "takesWrites"
  from (values (1)) one left join (
    select revision as number, revision_uuid as id, ${AS_OF} as "asOf", ${AGE} as age from mirror_state) s on true`;

interface State {
  readonly number: number | null;
  readonly id: string | null;
  readonly asOf: number | null;
  readonly age: number | null;
}

interface Seen extends State {
  readonly takesWrites: boolean;
}

type StateRow = [number: number | null, id: string | null, asOf: number | null, age: number | null];

/**
 * The channel on which PostgreSQL tells that there is a new revision, in the moment that it can be read. The payload is its
 * number, for processes of the previous release; this one asks.
 */
export const REVISION_CHANNEL = 'directory_revision';

/** Milliseconds after which it is also asked: a pooler in between may swallow notifications. */
const INTERVAL = 1000;

/**
 * Which revision of the mirror is the one to be read, without asking each time: this process knows at once of its own,
 * and within moments, a second at most, of those that another one applies.
 */
@Injectable()
export class Revisions implements OnModuleInit, OnModuleDestroy {
  private readonly stopping = new AbortController();
  private listening: Promise<void> = Promise.resolve();
  /** Whether the server is heard of: else there may be a revision that this process has not been told of. */
  private isHeard = false;
  /** Revisions that this process is applying. */
  private changing = 0;
  /** How old the mirror is. */
  readonly freshness = new Freshness();
  private readonly logger = new Logger('Database');
  /** Why the database is not asked although it answers; null: it is asked. */
  private pausedFor: string | null = null;

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    private readonly database: Database,
  ) {}

  async onModuleInit(): Promise<void> {
    if (this.config.database.kind === 'postgres') this.listening = this.listen(this.config.database.url);
    else {
      this.database.revision.onDoubt = () => {
        // Where that fails, the next reader asks.
        this.look().catch(() => undefined);
      };
      await this.look();
    }
  }

  async onModuleDestroy(): Promise<void> {
    this.stopping.abort();
    await this.listening;
  }

  /** The revision; null while it cannot be told, or is changing at this moment. */
  get current(): Revision | null {
    return this.changing > 0 || !this.isHeard ? null : this.database.revision.known;
  }

  /** Every change made in the directory before is in this revision; null: the server has another one by now. */
  async asOfRevision(id: string): Promise<Date | null> {
    const known = this.freshness.asOfRevision(id);
    if (known !== null) return known;
    await this.readState();
    return this.freshness.asOfRevision(id);
  }

  /**
   * Seconds since the mirror was known to be as the directory is; null: there is no revision.
   * @throws ServiceUnavailableError when that cannot be told
   */
  async readAge(): Promise<number | null> {
    const { current } = this;
    if (current === null || this.freshness.asOfRevision(current.id) === null) await this.readState();
    return this.freshness.age;
  }

  /** The mirror was confirmed without a new revision. */
  noteConfirmed(): void {
    this.database.noteConfirmed();
  }

  /**
   * Applies a revision. Until it is done nobody can tell which one is read.
   * @param apply gives the new revision
   */
  async change(apply: () => Promise<Revision>): Promise<Revision> {
    this.changing++;
    try {
      const revision = await apply();
      this.database.revision.noteApplied(revision);
      this.database.revision.onDoubt();
      return revision;
    } catch (error) {
      // Whether it was applied after all is found out by looking.
      this.isHeard = false;
      if (this.config.database.kind === 'pglite') await this.look().catch(() => undefined);
      throw error;
    } finally {
      this.changing--;
    }
  }

  /** The connection for this is also how a server that hangs is found out, for all that wait for it. */
  private listen(url: string): Promise<void> {
    const question = { url, greeting: `listen ${REVISION_CHANNEL}`, text: LOOK, interval: INTERVAL };
    const { revision } = this.database;
    const pulse = new Pulse<Seen>(question, {
      onQuestion: () => {
        revision.beginAsking();
      },
      onAnswer: (seen) => {
        if (seen?.takesWrites !== true) this.pause('it can only be read');
        else if (!this.goOn(seen)) pulse.askNow();
      },
      onNotification: () => {
        pulse.askNow();
      },
      onLost: (error) => {
        this.isHeard = false;
        if (isFull(error)) this.pause('its disk is full');
        // It is away: whoever reads from it tells.
        else this.database.goOn();
      },
      onDoubt: () => {
        this.isHeard = false;
      },
      onHang: () => {
        this.database.giveUp();
      },
      receivedBytes: () => this.database.receivedBytes,
    });
    revision.onDoubt = () => {
      pulse.askNow();
    };
    return pulse.feel(this.stopping.signal);
  }

  /** @returns false when the server has to be asked again, because of what happened since it was asked */
  private goOn(seen: State): boolean {
    this.database.goOn();
    const isReliable = this.database.revision.noteAnswer(revisionIn(seen));
    if (isReliable) {
      this.isHeard = true;
      this.freshness.note(freshnessIn(seen));
    }
    if (this.pausedFor !== null) this.logger.log('The database takes writes again, and is read');
    this.pausedFor = null;
    return isReliable;
  }

  /**
   * A database that takes no writes is away for everybody: of a primary that has become a replica, or has no room, nobody
   * knows how old it gets.
   */
  private pause(reason: string): void {
    this.isHeard = false;
    this.database.pause();
    if (this.pausedFor !== reason) this.logger.warn(`The database is not asked for the moment: ${reason}`);
    this.pausedFor = reason;
  }

  /** Asks the embedded database, which no other process changes. */
  private async look(): Promise<void> {
    const { revision } = this.database;
    let isReliable = false;
    while (!isReliable) {
      revision.beginAsking();
      isReliable = revision.noteAnswer(revisionIn(await this.readState()));
    }
    this.isHeard = true;
  }

  /** Asks the server on an ordinary connection. */
  private async readState(): Promise<State> {
    const rows = await this.database.read<StateRow>(READ_REVISION);
    const [[number, id, asOf, age] = [null, null, null, null]] = rows;
    const state = { number, id, asOf, age };
    this.freshness.note(freshnessIn(state));
    return state;
  }
}

function freshnessIn({ id, asOf, age }: State): ToldFreshness | null {
  return id === null || asOf === null || age === null ? null : { id, asOf, age };
}
