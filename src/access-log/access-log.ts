import { Inject, Injectable, Logger, type OnModuleInit } from '@nestjs/common';
import { type AbstractHttpAdapter, HttpAdapterHost } from '@nestjs/core';
import type { FastifyInstance } from 'fastify';
import { DataSource } from 'typeorm';
import type { Principal } from '../auth/principal.js';
import type { Config } from '../config/config.js';
import { CONFIG } from '../config/config.module.js';
import { settlesWithin } from '../database/connections/settles-within.js';
import { addCounts, deleteDays } from './access-log.queries.js';
import { Counts } from './access-counts.js';
import { dayOf, keptSince } from './day.js';
import type { Exhibit } from './personal-data-access.js';
import { type Onlooker, onlookerOf, SIGNED_URL } from './audit-actor.js';

/** Milliseconds between two times that counts are written: what a process that is killed may lose. */
const INTERVAL = 5000;
/** Milliseconds that the last counts have to be written: a database that hangs keeps nothing from ending. */
const LAST_CHANCE = 3000;
/** Exhibits that are noted before they are added up: each has some hundred bytes until then. Many callers are to come again meanwhile. */
const MOST_NOTES = 20_000;
/** Rows that wait to be written: about 40 MB. */
const MOST_WAITING = 100_000;
/** Rows of one statement. */
const PORTION = 1000;

/** Somebody, and what they have been shown since it was last added up: how often each exhibit. */
interface Notes {
  readonly onlooker: Onlooker;
  times: Map<Exhibit, number>;
}

/**
 * Counts who is shown which fields of how many people, a day (docs/privacy.md, docs/adr/0028). Noting costs whoever is
 * answered a look into two maps; adding up and writing is done for everybody every few seconds.
 */
@Injectable()
export class AccessLog implements OnModuleInit {
  readonly isOff: boolean;
  private readonly logger = new Logger(AccessLog.name);
  private readonly days: number;
  /** Tokens are remembered, with their principal; each request of a service account has one of its own. */
  private readonly ofTokens = new WeakMap<Principal, Notes>();
  private readonly ofAccounts = new Map<string, Notes>();
  private readonly ofSignedUrls: Notes = { onlooker: SIGNED_URL, times: new Map() };
  /** Those with anything in them. */
  private readonly open: Notes[] = [];
  private noted = 0;
  private readonly counts = new Counts(MOST_WAITING);
  private writing: Promise<void> = Promise.resolve();
  private isWriting = false;
  /** The day on which the days before were last looked through. */
  private prunedOn: string | null = null;
  private isFailing = false;

  constructor(
    @Inject(CONFIG) { accessLogDays }: Config,
    private readonly dataSource: DataSource,
    private readonly adapterHost: HttpAdapterHost,
  ) {
    this.days = accessLogDays;
    this.isOff = accessLogDays === 0;
  }

  onModuleInit(): void {
    // Commands run without HTTP, and note nothing.
    const adapter = this.adapterHost.httpAdapter as AbstractHttpAdapter | null | undefined;
    if (!adapter) return;
    const timer = setInterval(() => {
      // While a database hangs, one attempt waits for it.
      if (!this.isWriting) void this.flush();
    }, INTERVAL).unref();
    // By then everything is answered, and the database is still there: of shutdown hooks the database's may come first.
    adapter.getInstance<FastifyInstance>().addHook('onClose', async () => {
      clearInterval(timer);
      const isOver = await settlesWithin(LAST_CHANCE, this.flush());
      if (!isOver || this.counts.size > 0)
        this.logger.warn('The last counts of the access log could not be written');
    });
  }

  /** Somebody is shown something. The same exhibit may be noted any number of times: it costs least. */
  note(principal: Principal, exhibit: Exhibit): void {
    if (!this.isOff) this.add(this.notesOf(principal), exhibit);
  }

  /** A picture is given to whoever has its URL. */
  noteSignedUrl(exhibit: Exhibit): void {
    if (!this.isOff) this.add(this.ofSignedUrls, exhibit);
  }

  /** Writes what has been counted, and deletes what is past its time. Never fails: what is not written waits. */
  flush(): Promise<void> {
    this.isWriting = true;
    this.writing = this.writing
      .then(() => this.write())
      .finally(() => {
        this.isWriting = false;
      });
    return this.writing;
  }

  private add(notes: Notes, exhibit: Exhibit): void {
    const { times } = notes;
    if (times.size === 0) this.open.push(notes);
    times.set(exhibit, (times.get(exhibit) ?? 0) + 1);
    if (++this.noted >= MOST_NOTES) this.addUp();
  }

  private notesOf(principal: Principal): Notes {
    const { serviceAccountId: account } = principal;
    let notes = account === null ? this.ofTokens.get(principal) : this.ofAccounts.get(account);
    if (notes === undefined) {
      notes = { onlooker: onlookerOf(principal), times: new Map() };
      if (account === null) this.ofTokens.set(principal, notes);
      else this.ofAccounts.set(account, notes);
    }
    return notes;
  }

  private addUp(): void {
    const day = dayOf(new Date());
    for (const notes of this.open) {
      this.counts.add(day, notes.onlooker, notes.times);
      // One that is cleared leaves its table behind, and V8 keeps all that was in it until it collects everything.
      notes.times = new Map();
    }
    this.open.length = 0;
    this.noted = 0;
  }

  private async write(): Promise<void> {
    this.addUp();
    try {
      await this.prune(new Date());
      while (this.counts.size > 0) await this.writePortion();
      this.isFailing = false;
    } catch (error) {
      if (!this.isFailing) this.logger.warn(`The access log waits to be written: ${String(error)}`);
      this.isFailing = true;
    }
  }

  /** A connection that breaks off between a statement and its answer counts twice: too much is better than nothing. */
  private async writePortion(): Promise<void> {
    const portion = this.counts.take(PORTION);
    try {
      await addCounts(this.dataSource, portion);
    } catch (error) {
      for (const count of portion) this.counts.addCount(count);
      throw error;
    }
  }

  /** Deletes what is past its time: once a day, and once a process, whose setting may be another one. */
  private async prune(now: Date): Promise<void> {
    const today = dayOf(now);
    if (this.prunedOn === today) return;
    await deleteDays(this.dataSource, this.isOff ? null : keptSince(now, this.days));
    this.prunedOn = today;
  }
}
