import type { IncomingHttpHeaders } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { Inject, Injectable, Logger, type OnModuleDestroy, type OnModuleInit } from '@nestjs/common';
import pg from 'pg';
import { DataSource } from 'typeorm';
import { ServiceError } from '../common/errors.js';
import type { Config } from '../config/config.js';
import { CONFIG } from '../config/config.module.js';
import { markOfRules, numberOfRules } from '../config/model/mapping.js';
import type { DirectoryDataSource } from './connections/data-source.js';
import { SESSION_SETTINGS, timeLimitsFor, unencryptedPassword } from './connections/pool-options.js';
import { statement } from './statements/statement.js';

/** A revision of the mirror. Numbers repeat after a failover or a restore; ids (random UUIDs) do not. */
export interface Revision {
  readonly number: number;
  readonly id: string;
}

/** What the primary reports. */
export interface MirrorReading {
  readonly number: number | null;
  readonly id: string | null;
  /** Milliseconds since 1970. The revision contains every change that the directory had before this time. Null: unknown. */
  readonly asOf: number | null;
  /** Seconds since `asOf`, on the clock of the database. */
  readonly age: number | null;
  /** The end of the fingerprint: see markOfRules. */
  readonly mark: string;
}

/** The state of the mirror from which a response was read. */
export interface MirrorRead {
  readonly revision: string;
  /** The revision contains every change that the directory had before this time. Null: unknown. */
  readonly asOf: Date | null;
}

/** The channel that announces the id of a new revision. */
export const REVISION_CHANNEL = 'directory_revision';

/** One JSON value. */
const READ_STATE = `
  select json_build_object('number', revision, 'id', revision_uuid, 'asOf', (extract(epoch from as_of) * 1000)::float8,
    'age', extract(epoch from clock_timestamp() - as_of)::float8,
    'mark', coalesce(substring(source_fingerprint from '[.].*'), '')) as state
  from mirror_state`;

/** Milliseconds between two queries without a notification, and before a lost connection is opened again. */
const INTERVAL_MS = 1000;
/** Milliseconds between two queries at least. */
const BRIEF_MS = 2;
/** Seconds by which the clocks of servers may differ without a clock change. */
const TOLERANCE = 5;

/** The current revision and its age, which only the primary reports. Numbers are not compared: they decrease after a restore. */
@Injectable()
export class Revisions implements OnModuleInit, OnModuleDestroy {
  /** The number of the rules of visibility of the model; 0: it has none. */
  readonly rules: number;
  private state: MirrorReading | null = null;
  /** When `state` was read, on the clock of `performance.now()`. */
  private readAt = 0;
  /** Counts what makes an answer outdated that is not there yet. */
  events = 0;
  private isDoubted = true;
  /** Whether the server answers. Otherwise there may be a revision that this process does not know. */
  private isHeard = false;
  private readonly stopping = new AbortController();
  /** Aborted when the server has to be queried at once. */
  private pausing = new AbortController();
  private listening: Promise<void> | null = null;
  private readonly listeners: (() => void)[] = [];

  constructor(
    @Inject(DataSource) private readonly dataSource: DirectoryDataSource,
    @Inject(CONFIG) private readonly config: Config | null = null,
  ) {
    this.rules = config === null ? 0 : numberOfRules(config.directory.mapping);
  }

  async onModuleInit(): Promise<void> {
    const { config } = this;
    if (config === null) return;
    const risk = unencryptedPassword(config.database);
    if (risk !== null) new Logger('Database').warn(risk);
    await this.dataSource.whenOpen(() => {
      this.listening ??= this.listen(config);
    });
  }

  async onModuleDestroy(): Promise<void> {
    this.stopping.abort();
    this.pausing.abort();
    await this.listening;
  }

  /** The revision that the primary reported last; null if another one was read since. */
  get known(): Revision | null {
    const { number = null, id = null } = this.state ?? {};
    return number === null || id === null || this.isDoubted ? null : { number, id };
  }

  /** The revision; null while it is unknown, or while the mirror is written with other rules of visibility. */
  get current(): Revision | null {
    const isOfRules = this.rules === 0 || this.state?.mark === markOfRules(this.rules);
    return this.isHeard && isOfRules ? this.known : null;
  }

  /** The id that the primary reported last, even while statements read another one. */
  get latest(): string | null {
    return this.state?.id ?? null;
  }

  /** Whether the primary has reported that there is no revision yet. */
  get isNone(): boolean {
    return this.state !== null && this.state.id === null;
  }

  /** Whether rules can hide something from some viewers: of the model, or of the process that wrote the mirror. Assumed at first. */
  get hides(): boolean {
    return this.rules > 0 || this.state?.mark !== '';
  }

  /** Calls the listener when another revision is current. */
  onChanged(listener: () => void): void {
    this.listeners.push(listener);
  }

  /** Notes a revision that this process has written. Its time is that of the next answer. */
  noteApplied(revision: Revision): void {
    this.ask();
    if (this.state === null) return;
    const unknown = { asOf: null, age: null };
    this.accept({ ...this.state, ...revision, ...unknown, mark: markOfRules(this.rules) }, this.events);
  }

  /** Notes the id of a revision that was read or announced. */
  note(id: string): void {
    if (id === this.latest) return;
    this.isDoubted = true;
    this.ask();
  }

  /** Called when the state of the mirror changed, perhaps without a new revision. */
  ask(): void {
    this.events++;
    this.pausing.abort();
  }

  /** The `asOf` that is known now. Anything read later is at least as fresh. */
  get asOf(): Date | null {
    const asOf = this.state?.asOf ?? null;
    return asOf === null ? null : new Date(asOf);
  }

  /** Seconds since the last confirmation of the mirror. Infinity if a clock was set back; null if there is no revision. */
  get age(): number | null {
    const { age = null } = this.state ?? {};
    if (age === null) return null;
    return age < -TOLERANCE ? Infinity : Math.max(0, age) + (performance.now() - this.readAt) / 1000;
  }

  /** Seconds since the last confirmation of the mirror. Null: no revision. Throws ServiceUnavailableError. */
  async readAge(): Promise<number | null> {
    if (this.current === null || this.asOf === null) await this.readState();
    return this.age;
  }

  /** Throws ServiceError STALE, or ServiceUnavailableError if the age cannot be determined. */
  async refuseStale(maxStaleness: number | null): Promise<void> {
    if (maxStaleness === null) return;
    const age = await this.readAge();
    // Without a revision, each field reports its own error.
    if (age === null || age <= maxStaleness) return;
    const ageSeconds = Number.isFinite(age) ? { ageSeconds: Math.ceil(age) } : {};
    throw new ServiceError('STALE', 'The answers would be older than Directory-Max-Staleness allows', {
      retryAfter: 1,
      maxStaleness,
      ...ageSeconds,
    });
  }

  /** Describes the revision of a response. `before` is the `asOf` that was known when the request began. */
  async describe(revision: string, before: Date | null = null): Promise<MirrorRead> {
    if (revision !== this.latest || this.asOf === null) await this.readState().catch(() => undefined);
    return { revision, asOf: (revision === this.latest ? this.asOf : null) ?? before };
  }

  /** Listens on a connection of its own, and queries each second: a notification may be lost. */
  private async listen({ database: { url, timeoutSeconds } }: Config): Promise<void> {
    const { signal } = this.stopping;
    const { connection: limit } = timeLimitsFor(timeoutSeconds);
    const limits = { keepAlive: true, connectionTimeoutMillis: limit, query_timeout: limit };
    while (!signal.aborted) {
      const client = new pg.Client({ connectionString: url, ...limits });
      // The next query then fails.
      client.on('error', () => {
        this.pausing.abort();
      });
      client.on('notification', ({ payload = '' }) => {
        this.note(payload);
      });
      try {
        await client.connect();
        await client.query(`${SESSION_SETTINGS}; listen ${REVISION_CHANNEL}`);
        while (!this.stopping.signal.aborted) await this.readBy(client);
      } catch {
        this.isHeard = false;
        await sleep(INTERVAL_MS, undefined, { signal }).catch(() => undefined);
      } finally {
        await client.end().catch(() => undefined);
      }
    }
  }

  /** Returns when the server has to be queried again. Throws the error of the connection. */
  private async readBy(client: pg.Client): Promise<void> {
    this.pausing = new AbortController();
    const { signal } = this.pausing;
    const { events } = this;
    const { rows } = await client.query<{ state: MirrorReading }>(READ_STATE);
    this.accept(rows[0]?.state, events);
    this.isHeard = true;
    await sleep(BRIEF_MS);
    await sleep(INTERVAL_MS, undefined, { signal }).catch(() => undefined);
  }

  private async readState(): Promise<void> {
    const { events } = this;
    const [[state] = []] = await this.dataSource.statements.read<[MirrorReading]>(statement(READ_STATE), []);
    this.accept(state, events);
  }

  /** Takes the answer of the primary, unless something happened since the query began: then it has to be queried again. */
  accept(state: MirrorReading | undefined, events: number): void {
    if (state === undefined || events !== this.events) return;
    const isOther = state.id !== this.latest;
    this.state = state;
    this.readAt = performance.now();
    this.isDoubted = false;
    if (!isOther) return;
    this.events++;
    for (const listener of this.listeners) listener();
  }
}

export function headersOfRead({ revision, asOf }: MirrorRead): Record<string, string> {
  const headers: Record<string, string> = { 'directory-revision': revision };
  if (asOf !== null) headers['directory-as-of'] = asOf.toISOString();
  return headers;
}

/** The request header with the maximum age of the mirror that the client accepts. */
const MAX_STALENESS = 'directory-max-staleness';

/** Limits the number of digits. The largest number is more than a thousand years. */
const SECONDS = /^\d{1,11}$/;

/** The maximum age of the mirror in seconds. Null: no bound. Throws ServiceError BAD_REQUEST. */
export function readMaxStaleness(headers: IncomingHttpHeaders): number | null {
  const value = headers[MAX_STALENESS];
  if (value === undefined) return null;
  if (typeof value !== 'string' || !SECONDS.test(value)) {
    throw new ServiceError('BAD_REQUEST', 'Directory-Max-Staleness must be one whole number of seconds');
  }
  return Number(value);
}
