import { Inject, Injectable, Logger, type OnModuleDestroy, type OnModuleInit } from '@nestjs/common';
import type { Config } from '../config/config.js';
import { CONFIG } from '../config/config.module.js';
import { Database } from './database.js';
import { Pulse } from './pulse.js';
import { type Revision, revisionIn } from './revision.js';
import { statement } from './statement.js';
import { isFull, TAKES_WRITES } from './takes-writes.js';

const READ_REVISION = statement('select revision, revision_uuid from mirror_state');

/** What the server is asked again and again: one row, also before the first revision. */
const LOOK = `
  select (select revision from mirror_state) as number, (select revision_uuid from mirror_state) as id,
    ${TAKES_WRITES} as "takesWrites"`;

interface Seen {
  readonly number: number | null;
  readonly id: string | null;
  readonly takesWrites: boolean;
}

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

  /**
   * Applies a revision. Until it is done nobody can tell which one is read.
   * @param apply gives the new revision
   */
  async change(apply: () => Promise<Revision>): Promise<Revision> {
    this.changing++;
    try {
      const revision = await apply();
      this.database.revision.noteApplied(revision);
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
        else if (!this.goOn(revisionIn(seen))) pulse.askNow();
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
    });
    revision.onDoubt = () => {
      pulse.askNow();
    };
    return pulse.feel(this.stopping.signal);
  }

  /** @returns false when the server has to be asked again, because of what happened since it was asked */
  private goOn(seen: Revision | null): boolean {
    this.database.goOn();
    const isReliable = this.database.revision.noteAnswer(seen);
    if (isReliable) this.isHeard = true;
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
      const [[number, id] = [null, null]] =
        await this.database.read<[number | null, string | null]>(READ_REVISION);
      isReliable = revision.noteAnswer(revisionIn({ number, id }));
    }
    this.isHeard = true;
  }
}
