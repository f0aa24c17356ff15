import { Inject, Injectable, Logger, type OnModuleInit } from '@nestjs/common';
import { type AbstractHttpAdapter, HttpAdapterHost } from '@nestjs/core';
import { InjectRepository } from '@nestjs/typeorm';
import type { FastifyInstance } from 'fastify';
import { Repository } from 'typeorm';
import type { Principal } from '../auth/principal.js';
import { Incident } from '../common/incident.js';
import type { Config } from '../config/config.js';
import { CONFIG } from '../config/config.module.js';
import { settlesWithin } from '../common/settles-within.js';
import { AccessCounts, actorOf, type AuditActor, SIGNED_URL, dayOf } from './access-counts.js';
import { AccessLogEntity } from './access-log.entity.js';
import { addCounts, deleteExpiredDays } from './access-log.queries.js';
import type { PersonalDataAccess } from './personal-data.decorator.js';

/** Time between two writes. A process that is killed may lose the counts of this time. */
const WRITE_INTERVAL_MS = 5000;
/** Time that the last write has, so that a database that hangs does not block the shutdown. */
const LAST_WRITE_TIMEOUT_MS = 3000;
/** Accesses that are noted before they are summed up. Each takes about a hundred bytes until then. */
const MAX_NOTES = 20_000;
/** Rows that wait for the database: about 40 MB. */
const MAX_WAITING_ROWS = 100_000;
/** Rows of one statement. */
const ROWS_PER_STATEMENT = 1000;

/** How often an actor had each access since the notes were last summed up. */
interface Notes {
  readonly actor: AuditActor;
  times: Map<PersonalDataAccess, number>;
}

/**
 * Counts who reads which personal fields of how many users on a day (SECURITY.md, docs/adr/0028). A request only pays for
 * two lookups in maps. The counts are summed up and written every few seconds.
 */
@Injectable()
export class AccessLog implements OnModuleInit {
  readonly isOff: boolean;
  private readonly logger = new Logger(AccessLog.name);
  private readonly days: number;
  /** Access tokens are cached together with their principal. A service account has a new principal for each request. */
  private readonly ofTokens = new WeakMap<Principal, Notes>();
  private readonly ofAccounts = new Map<string, Notes>();
  private readonly ofSignedUrls: Notes = { actor: SIGNED_URL, times: new Map() };
  /** The notes that are not empty. */
  private readonly open: Notes[] = [];
  private noted = 0;
  private readonly counts = new AccessCounts(MAX_WAITING_ROWS);
  private writing: Promise<void> = Promise.resolve();
  private isWriting = false;
  /** The day of the last deletion of old days. */
  private prunedOn: string | null = null;
  private readonly incident = new Incident(this.logger);

  constructor(
    @Inject(CONFIG) { accessLogDays }: Config,
    @InjectRepository(AccessLogEntity) private readonly accessLog: Repository<AccessLogEntity>,
    private readonly adapterHost: HttpAdapterHost,
  ) {
    this.days = accessLogDays;
    this.isOff = accessLogDays === 0;
  }

  onModuleInit(): void {
    // Commands run without HTTP and note nothing.
    const adapter = this.adapterHost.httpAdapter as AbstractHttpAdapter | null | undefined;
    if (!adapter) return;
    // When Fastify closes, all requests are answered. Nest's shutdown hooks may close the database before this one runs.
    adapter.getInstance<FastifyInstance>().addHook('onClose', this.startWriting());
  }

  /** Writes every few seconds. The function that it returns writes a last time, and then ends this. */
  startWriting(): () => Promise<void> {
    const timer = setInterval(() => {
      // At most one write waits for a database that hangs.
      if (!this.isWriting) void this.flush();
    }, WRITE_INTERVAL_MS).unref();
    return async () => {
      clearInterval(timer);
      const isOver = await settlesWithin(LAST_WRITE_TIMEOUT_MS, this.flush());
      if (!isOver || this.counts.size > 0)
        this.logger.warn('The last counts of the access log could not be written');
    };
  }

  /** Notes that a principal reads personal data. It is cheapest to pass the same object for the same access. */
  note(principal: Principal, access: PersonalDataAccess): void {
    if (!this.isOff) this.add(this.notesOf(principal), access);
  }

  /** Notes that the holder of a signed URL gets a picture. */
  noteSignedUrl(access: PersonalDataAccess): void {
    if (!this.isOff) this.add(this.ofSignedUrls, access);
  }

  /** Writes the counts and deletes old days. Never fails: counts that cannot be written wait. */
  flush(): Promise<void> {
    this.isWriting = true;
    this.writing = this.writing
      .then(() => this.write())
      .finally(() => {
        this.isWriting = false;
      });
    return this.writing;
  }

  private add(notes: Notes, access: PersonalDataAccess): void {
    const { times } = notes;
    if (times.size === 0) this.open.push(notes);
    times.set(access, (times.get(access) ?? 0) + 1);
    if (++this.noted >= MAX_NOTES) this.sumUp();
  }

  private notesOf(principal: Principal): Notes {
    const { serviceAccountId: account } = principal;
    let notes = account === null ? this.ofTokens.get(principal) : this.ofAccounts.get(account);
    if (notes === undefined) {
      notes = { actor: actorOf(principal), times: new Map() };
      if (account === null) this.ofTokens.set(principal, notes);
      else this.ofAccounts.set(account, notes);
    }
    return notes;
  }

  private sumUp(): void {
    const day = dayOf(new Date());
    for (const notes of this.open) {
      this.counts.add(day, notes.actor, notes.times);
      // A new map, because V8 keeps the table of a cleared one until the next full collection.
      notes.times = new Map();
    }
    this.open.length = 0;
    this.noted = 0;
  }

  private async write(): Promise<void> {
    this.sumUp();
    try {
      await this.prune();
      while (this.counts.size > 0) await this.writeRows();
      this.incident.end('The access log is written again');
    } catch (error) {
      this.incident.note(`The access log waits to be written: ${String(error)}`);
    }
  }

  /** If the connection breaks after the statement and before its result, the rows count twice, which is better than not at all. */
  private async writeRows(): Promise<void> {
    const rows = this.counts.take(ROWS_PER_STATEMENT);
    try {
      await addCounts(this.accessLog, rows);
    } catch (error) {
      for (const row of rows) this.counts.addCount(row);
      throw error;
    }
  }

  /** Deletes old days, once a day and once after a start, because the setting may have changed. */
  private async prune(): Promise<void> {
    const today = dayOf(new Date());
    if (this.prunedOn === today) return;
    await (this.isOff ? this.accessLog.deleteAll() : deleteExpiredDays(this.accessLog, this.days, today));
    this.prunedOn = today;
  }
}
