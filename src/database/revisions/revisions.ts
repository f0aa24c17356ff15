import { setTimeout as sleep } from 'node:timers/promises';
import { Inject, Injectable, Logger, type OnModuleDestroy, type OnModuleInit } from '@nestjs/common';
import pg from 'pg';
import type { Config } from '../../config/config.js';
import { CONFIG } from '../../config/config.module.js';
import { Incident } from '../../common/incident.js';
import { Database } from '../database.js';
import { type Announcement, announcementIn, REVISION_CHANNEL } from './announcement.js';
import { Freshness } from './freshness.js';
import { SESSION_SETTINGS, unencryptedPassword, timeLimitsFor } from '../connections/pool-options.js';
import { type Revision, revisionIn } from './revision.js';
import {
  freshnessIn,
  type MirrorReading,
  READ_REVISION,
  READ_STATE,
  readingOf,
  type ReadingRow,
} from './revision-query.js';
import { isIncomplete } from '../statements/database-error.js';

/** Some tools copy tables and never fill the view. */
const INCOMPLETE =
  'The database is not queried at the moment: its tables are incomplete. If it is not being restored: refresh materialized view database_complete';

/** Milliseconds between two queries without a notification, and before a lost connection is opened again. */
const INTERVAL_MS = 1000;
/** Milliseconds that a request waits at most for the primary to report a revision that a statement has read. */
const LONGEST_SETTLING_MS = 100;

/**
 * The current revision of the mirror, without a query for each request. This process knows its own revisions
 * at once, and those of other processes usually within moments and at most a second later.
 */
@Injectable()
export class Revisions implements OnModuleInit, OnModuleDestroy {
  private readonly stopping = new AbortController();
  private listening: Promise<void> | null = null;
  /** Whether the server answers. Otherwise there may be a revision that this process does not know. */
  private isHeard = false;
  readonly freshness = new Freshness();
  private readonly logger = new Logger('Database');
  private readonly incomplete = new Incident(this.logger);
  private pausing = new AbortController();
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

  async onModuleInit(): Promise<void> {
    const risk = unencryptedPassword(this.config.database);
    if (risk !== null) this.logger.warn(risk);
    await this.database.whenOpen(() => {
      this.listening ??= this.listen();
    });
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

  /** Listens on a connection of its own, and queries each second: a notification may be lost. */
  private async listen(): Promise<void> {
    this.database.revision.onUnknownRevision = () => {
      this.queryNow();
    };
    const { signal } = this.stopping;
    while (!signal.aborted) {
      const { url, timeoutSeconds } = this.config.database;
      const { connection: limit } = timeLimitsFor(timeoutSeconds);
      const limits = { keepAlive: true, connectionTimeoutMillis: limit, query_timeout: limit };
      const client = new pg.Client({ connectionString: url, ...limits });
      try {
        await this.listenOn(client);
      } catch (error) {
        this.isHeard = false;
        if (isIncomplete(error)) this.incomplete.note(INCOMPLETE);
        await sleep(INTERVAL_MS, undefined, { signal }).catch(() => undefined);
      } finally {
        await client.end().catch(() => undefined);
      }
    }
  }

  /** Returns at the end of the service. Throws the error of the connection. */
  private async listenOn(client: pg.Client): Promise<void> {
    // The next query then fails.
    client.on('error', () => {
      this.queryNow();
    });
    client.on('notification', ({ payload }) => {
      const announcement = announcementIn(payload);
      if (announcement === null) this.queryNow();
      else this.noteAnnounced(announcement);
    });
    const { revision } = this.database;
    await client.connect();
    await client.query(`${SESSION_SETTINGS}; listen ${REVISION_CHANNEL}`);
    while (!this.stopping.signal.aborted) {
      this.pausing = new AbortController();
      revision.beginQuery();
      const { rows } = await client.query<MirrorReading>(READ_STATE);
      if (rows[0] === undefined || !this.noteAnswer(rows[0])) continue;
      const signal = AbortSignal.any([this.stopping.signal, this.pausing.signal]);
      await sleep(INTERVAL_MS, undefined, { signal }).catch(() => undefined);
    }
  }

  /** Queries at once. If an answer is pending, queries once more after it. */
  private queryNow(): void {
    this.pausing.abort();
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
  private noteAnswer(seen: MirrorReading): boolean {
    const isReliable = this.database.revision.noteAnswer(revisionIn(seen));
    if (isReliable) {
      this.isHeard = true;
      this.freshness.note(freshnessIn(seen));
      this.noteHidden(seen);
      this.database.noteCursorKey(seen.cursorKey);
    }
    this.incomplete.end('The database is complete');
    return isReliable;
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
