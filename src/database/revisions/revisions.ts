import { Inject, Injectable, Logger, type OnModuleDestroy, type OnModuleInit } from '@nestjs/common';
import type { Config } from '../../config/config.js';
import { CONFIG } from '../../config/config.module.js';
import { Incident } from '../../common/incident.js';
import { Database } from '../database.js';
import { type Announcement, announcementIn } from './announcement.js';
import { Freshness } from './freshness.js';
import { unencryptedPassword } from '../connections/pool-options.js';
import { DatabaseHeartbeat } from '../connections/heartbeat.js';
import { type Revision, revisionIn } from './revision.js';
import {
  freshnessIn,
  heartbeatQuery,
  type MirrorReading,
  READ_REVISION,
  readingOf,
  type ReadingRow,
} from './revision-query.js';
import { pauseReasonOf } from '../statements/database-error.js';

interface Seen extends MirrorReading {
  readonly takesWrites: boolean;
}

/** Milliseconds that a request waits at most for the primary to report a revision that a statement has read. */
const LONGEST_SETTLING_MS = 100;

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
  readonly freshness = new Freshness();
  private readonly logger = new Logger('Database');
  /** The database is not used although it answers. */
  private readonly pausing = new Incident(this.logger);
  private settling: Promise<void> | null = null;
  private readonly listeners: (() => void)[] = [];

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    private readonly database: Database,
  ) {
    database.revision.onChanged = () => {
      database.rules.invalidate();
      for (const listener of this.listeners) listener();
    };
  }

  onModuleInit(): void {
    const risk = unencryptedPassword(this.config.database);
    if (risk !== null) this.logger.warn(risk);
    this.listening = this.listen(this.config.database.url);
  }

  async onModuleDestroy(): Promise<void> {
    this.stopping.abort();
    await this.listening;
  }

  /** The revision; null while it is unknown, or while its rules of visibility are. */
  get current(): Revision | null {
    const { revision, rules } = this.database;
    return this.isHeard && rules.areApplied ? revision.known : null;
  }

  /** Calls the listener when another revision is current. */
  onChanged(listener: () => void): void {
    this.listeners.push(listener);
  }

  /** Resolves when the revision is known, or soon after; null if waiting does not help. */
  get settled(): Promise<void> | null {
    const { revision } = this.database;
    if (!this.isHeard || revision.latest === null || revision.known !== null) return null;
    this.settling ??= revision.whenKnown(LONGEST_SETTLING_MS).finally(() => {
      this.settling = null;
    });
    return this.settling;
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

  /** Notes a revision that this process has written. Others learn of it by its announcement. */
  noteApplied(announcement: Announcement): void {
    const { number, id } = announcement;
    this.database.revision.noteApplied({ number, id });
    this.noteState(announcement);
  }

  /** Listens on a connection of its own, which also detects a hanging server for all waiting requests. */
  private listen(url: string): Promise<void> {
    const { revision } = this.database;
    const heartbeat = new DatabaseHeartbeat<Seen>(heartbeatQuery(url), {
      onQuery: () => {
        revision.beginQuery();
      },
      onAnswer: (seen) => {
        if (seen?.takesWrites !== true) this.pause('it can only be read');
        else if (!this.resume(seen)) heartbeat.queryNow();
      },
      onNotification: (payload) => {
        const announcement = announcementIn(payload);
        if (announcement === null) heartbeat.queryNow();
        else this.noteAnnounced(announcement);
      },
      onLost: (error) => {
        this.isHeard = false;
        const reason = pauseReasonOf(error);
        if (reason !== null) this.pause(reason);
        // The server is unavailable. Each reader gets the error of its own statement.
        else this.database.resume();
      },
      onDoubt: () => {
        this.isHeard = false;
      },
      onReconnect: () => {
        this.database.onReconnect();
      },
      onHang: () => {
        this.database.pauseAndDisconnect();
      },
      receivedBytes: () => this.database.receivedBytes,
    });
    revision.onUnknownRevision = () => {
      heartbeat.queryNow();
    };
    return heartbeat.run(this.stopping.signal);
  }

  private noteAnnounced(announcement: Announcement): void {
    const { revision } = this.database;
    const { number, id, previous } = announcement;
    const isLate = revision.latest?.id === id;
    if (!revision.noteAnnounced({ number, id }, previous)) revision.onUnknownRevision();
    if (!isLate) this.noteState(announcement);
  }

  /** Notes the state that belongs to the latest revision. */
  private noteState(announcement: Announcement): void {
    if (this.database.revision.latest?.id !== announcement.id) return;
    this.freshness.note(announcement);
    this.noteHidden(announcement);
  }

  /** @returns false if something happened since the query, so that the server has to be queried again */
  private resume(seen: MirrorReading): boolean {
    this.database.resume();
    const isReliable = this.database.revision.noteAnswer(revisionIn(seen));
    if (isReliable) {
      this.isHeard = true;
      this.freshness.note(freshnessIn(seen));
      this.noteHidden(seen);
      this.database.noteCursorKey(seen.cursorKey);
    }
    this.pausing.end('The database accepts writes again and is queried');
    return isReliable;
  }

  /** Stops using a read-only or full database: the age of its data would be unknown. */
  private pause(reason: string): void {
    this.isHeard = false;
    this.database.pause();
    this.pausing.note(`The database is not queried at the moment: ${reason}`);
  }

  private noteHidden({ hides, hidesInLog }: Pick<MirrorReading, 'hides' | 'hidesInLog'>): void {
    this.database.hides = hides === true;
    this.database.hidesInLog = hidesInLog === true;
  }

  private async readState(): Promise<MirrorReading> {
    const state = readingOf(await this.database.read<ReadingRow>(READ_REVISION));
    this.freshness.note(freshnessIn(state));
    this.noteHidden(state);
    this.database.noteCursorKey(state.cursorKey);
    return state;
  }
}
