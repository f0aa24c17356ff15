import { setTimeout as sleep } from 'node:timers/promises';
import { Inject, Injectable, Logger, type OnModuleDestroy, type OnModuleInit } from '@nestjs/common';
import pg from 'pg';
import { Incident } from '../../common/incident.js';
import type { Config } from '../../config/config.js';
import { CONFIG } from '../../config/config.module.js';
import { SESSION_SETTINGS, timeLimitsFor, unencryptedPassword } from '../connections/pool-options.js';
import { Database } from '../database.js';
import { isIncomplete } from '../statements/database-error.js';
import { IS_COMPLETE, statement } from '../statements/statement.js';
import type { ReportedRevision, Revision } from './revision.js';

/** The channel that announces the id of a new revision. */
export const REVISION_CHANNEL = 'directory_revision';

/** The state of the mirror as one JSON value. The key of cursors changes when another database is restored. */
const READ_STATE = `
  select json_build_object('number', revision, 'id', revision_uuid, 'asOf', (extract(epoch from as_of) * 1000)::float8,
    'age', extract(epoch from clock_timestamp() - as_of)::float8, 'cursorKey', encode(cursor_key, 'hex'),
    'hasRules', coalesce(strpos(source_fingerprint, '.'), 0) > 0) as state
  from mirror_state where ${IS_COMPLETE}`;
const READ_NOW = statement(READ_STATE);

type MirrorReading = { readonly cursorKey: string; readonly hasRules: boolean } & (
  ReportedRevision | { readonly id: null }
);

/** Some tools copy tables and never fill the view. */
const INCOMPLETE =
  'The database is not queried at the moment: its tables are incomplete. If it is not being restored: refresh materialized view database_complete';

/** Milliseconds between two queries without a notification, and before a lost connection is opened again. */
const INTERVAL_MS = 1000;
/** The same after a query during which something happened. */
const BRIEF_MS = 2;
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
  private readonly logger = new Logger('Database');
  private readonly incomplete = new Incident(this.logger);
  /** Aborted when the server has to be queried at once, or once more after a pending answer. */
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
    database.revision.onDoubt = () => {
      this.pausing.abort();
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
    this.pausing.abort();
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

  /** Whether rules can hide something from some viewers. */
  get hides(): boolean {
    return this.database.hides;
  }

  /** The `asOf` that is known now. Anything read later is at least as fresh. */
  get asOf(): Date | null {
    return this.database.revision.asOf();
  }

  /** The `asOf` of this revision, if it is the one that was read last. */
  knownAsOf(id: string): Date | null {
    return this.database.revision.asOf(id);
  }

  /** The time before which every change of the directory is in this revision; null for an older revision. */
  async asOfRevision(id: string): Promise<Date | null> {
    if (this.knownAsOf(id) === null) await this.readState();
    return this.knownAsOf(id);
  }

  /** Seconds since the last confirmation of the mirror. Null: no revision. Throws ServiceUnavailableError. */
  async readAge(): Promise<number | null> {
    const { current } = this;
    if (current === null || this.knownAsOf(current.id) === null) await this.readState();
    return this.database.revision.age;
  }

  noteConfirmed(): void {
    this.database.noteConfirmed();
  }

  /** Notes a revision that this process has written. Others learn of it by a notification. */
  noteApplied(revision: Revision): void {
    this.database.revision.noteApplied(revision);
  }

  /** Listens on a connection of its own, and queries each second: a notification may be lost. */
  private async listen(): Promise<void> {
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
    const { revision } = this.database;
    // The next query then fails.
    client.on('error', () => {
      this.pausing.abort();
    });
    client.on('notification', ({ payload = '' }) => {
      revision.noteRead(payload);
    });
    await client.connect();
    await client.query(`${SESSION_SETTINGS}; listen ${REVISION_CHANNEL}`);
    while (!this.stopping.signal.aborted) {
      this.pausing = new AbortController();
      revision.beginQuery();
      const { rows } = await client.query<{ state: MirrorReading }>(READ_STATE);
      revision.noteAnswer(this.note(rows[0]?.state));
      this.isHeard = true;
      this.incomplete.end('The database is complete');
      const { signal } = this.pausing;
      if (signal.aborted) await sleep(BRIEF_MS);
      else await sleep(INTERVAL_MS, undefined, { signal }).catch(() => undefined);
    }
  }

  private async readState(): Promise<void> {
    const [[state] = []] = await this.database.read<[MirrorReading]>(READ_NOW);
    this.database.revision.measure(this.note(state));
  }

  /** Notes the key of cursors, and whether rules of visibility apply. Returns the revision, if there is one. */
  private note(state: MirrorReading | undefined): ReportedRevision | null {
    if (state === undefined) return null;
    this.database.noteCursorKey(Buffer.from(state.cursorKey, 'hex'));
    this.database.isWrittenWithRules = state.hasRules;
    return state.id === null ? null : state;
  }
}
