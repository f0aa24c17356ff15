import { Inject, Injectable, Logger, type OnModuleDestroy, type OnModuleInit } from '@nestjs/common';
import type { Config } from '../config/config.js';
import { CONFIG } from '../config/config.module.js';
import { Database } from './database.js';
import { Pulse } from './pulse.js';
import { statement } from './statement.js';
import { isFull, TAKES_WRITES } from './takes-writes.js';

const READ_REVISION = statement('select revision from mirror_state');

/** What the server is asked again and again: one row, also before the first revision. */
const LOOK = `select (select revision from mirror_state), ${TAKES_WRITES} as "takesWrites"`;

interface Seen {
  readonly revision: number | null;
  readonly takesWrites: boolean;
}

/** The channel on which PostgreSQL passes on the number of a new revision, in the moment that it can be read. */
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
  private known: number | null = null;
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
    else this.known = await this.read();
  }

  async onModuleDestroy(): Promise<void> {
    this.stopping.abort();
    await this.listening;
  }

  /** The number of the revision; null while it cannot be told, or is changing at this moment. */
  get current(): number | null {
    return this.changing > 0 ? null : this.known;
  }

  /**
   * Applies a revision. Until it is done nobody can tell which one is read.
   * @param apply gives the number of the new revision
   */
  async change(apply: () => Promise<number>): Promise<number> {
    this.changing++;
    try {
      const revision = await apply();
      this.note(revision);
      return revision;
    } catch (error) {
      // Whether it was applied after all is found out by looking.
      this.known = null;
      if (this.config.database.kind === 'pglite') this.known = await this.read().catch(() => null);
      throw error;
    } finally {
      this.changing--;
    }
  }

  /** The connection for this is also how a server that hangs is found out, for all that wait for it. */
  private listen(url: string): Promise<void> {
    const question = { url, greeting: `listen ${REVISION_CHANNEL}`, text: LOOK, interval: INTERVAL };
    const pulse = new Pulse<Seen>(question, {
      onAnswer: (seen) => {
        if (seen?.takesWrites === true) this.goOn(seen.revision);
        else this.pause('it can only be read');
      },
      onNotification: (payload) => {
        if (this.pausedFor === null) this.note(Number(payload));
      },
      onLost: (error) => {
        this.known = null;
        if (isFull(error)) this.pause('its disk is full');
        // It is away: whoever reads from it tells.
        else this.database.goOn();
      },
      onDoubt: () => {
        this.known = null;
      },
      onHang: () => {
        this.database.giveUp();
      },
    });
    return pulse.feel(this.stopping.signal);
  }

  private goOn(revision: number | null): void {
    this.database.goOn();
    this.note(revision);
    if (this.pausedFor !== null) this.logger.log('The database takes writes again, and is read');
    this.pausedFor = null;
  }

  /**
   * A database that takes no writes is away for everybody: of a primary that has become a replica, or has no room, nobody
   * knows how old it gets.
   */
  private pause(reason: string): void {
    this.known = null;
    this.database.pause();
    if (this.pausedFor !== reason) this.logger.warn(`The database is not asked for the moment: ${reason}`);
    this.pausedFor = reason;
  }

  /** Somebody has read this one: then no older one is to be read any more, whatever is still to be heard of it. */
  noteRead(revision: number): void {
    if (this.known !== null && revision > this.known) this.known = revision;
  }

  /** An answer may have been on its way while a notification overtook it: revisions only grow. */
  private note(revision: number | null): void {
    this.known = this.known === null || revision === null ? revision : Math.max(this.known, revision);
    if (revision !== null) this.database.noteRevision(revision);
  }

  private async read(): Promise<number | null> {
    const [[revision] = [null]] = await this.database.read<[number | null]>(READ_REVISION);
    return revision;
  }
}
