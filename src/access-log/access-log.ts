import { Inject, Injectable, Logger, type OnModuleInit } from '@nestjs/common';
import { type AbstractHttpAdapter, HttpAdapterHost } from '@nestjs/core';
import { InjectRepository } from '@nestjs/typeorm';
import type { FastifyInstance } from 'fastify';
import { Repository } from 'typeorm';
import type { Principal } from '../auth/principal.js';
import { arraysOf } from '../common/chunks.js';
import { Incident } from '../common/incident.js';
import type { Config } from '../config/config.js';
import { CONFIG } from '../config/config.module.js';
import { settlesWithin } from '../common/settles-within.js';
import { type AccessCount, actorOf, DAY, dayOf, OTHERS, SIGNED_URL } from './access-counts.js';
import { AccessLogEntity } from './access-log.entity.js';
import type { PersonalDataAccess } from './personal-data.decorator.js';

/** Time between two writes. A process that is killed may lose the counts of this time. */
const WRITE_INTERVAL_MS = 5000;
/** Time that the last write has, so that a database that hangs does not block the shutdown. */
const LAST_WRITE_TIMEOUT_MS = 3000;
/** Rows that wait for the database: about 40 MB. Beyond them everything is counted, but not by whom. */
const MAX_WAITING_ROWS = 100_000;
/** Rows of one statement. */
const ROWS_PER_STATEMENT = 1000;

/** An upsert of TypeORM overwrites, and this one adds. Processes write rows in the same order and so never deadlock. */
const ADD = `
  insert into access_log (day, principal, acting_for, field, requests, users)
  select * from unnest($1::date[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::bigint[])
    as added (day, principal, acting_for, field, requests, users)
  order by day, principal, acting_for, field
  on conflict on constraint access_log_pk do update
  set requests = access_log.requests + excluded.requests, users = access_log.users + excluded.users`;

/** By the earlier one of two clocks: one that leaps ahead must not delete what was counted. */
const DELETE_EXPIRED = `
  delete from access_log where day < least((now() at time zone 'UTC')::date, $2::date) - $1::integer`;

/**
 * Counts who reads which personal fields of how many users on a day (SECURITY.md, docs/adr/0028). A request only pays for
 * a lookup for each field. The counts are written every few seconds.
 */
@Injectable()
export class AccessLog implements OnModuleInit {
  readonly isOff: boolean;
  private readonly logger = new Logger(AccessLog.name);
  private readonly days: number;
  /** Counts that wait to be written, by what identifies their row. */
  private readonly rows = new Map<string, AccessCount>();
  private writing: Promise<void> = Promise.resolve();
  private isWriting = false;
  /** The day of the last deletion of old days. */
  private prunedOn: string | null = null;
  private readonly incident = new Incident(this.logger);
  /** Since 1970, and as text. */
  private day = { number: 0, text: '1970-01-01' };

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
      if (!isOver || this.rows.size > 0)
        this.logger.warn('The last counts of the access log could not be written');
    };
  }

  /** Notes that a principal reads personal data, or, if there is none, the holder of a signed URL. */
  note(principal: Principal | null, { fields, users }: PersonalDataAccess): void {
    if (this.isOff) return;
    const { principal: actor, actingFor } = principal === null ? SIGNED_URL : actorOf(principal);
    const day = this.today();
    for (const [index, field] of fields.entries()) {
      const shown = users[index] ?? 0;
      if (shown > 0) this.addRow({ day, principal: actor, actingFor, field, requests: 1, users: shown });
    }
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

  /** Formatted once a day, because every request needs it. */
  private today(): string {
    const number = Math.floor(Date.now() / DAY);
    if (number !== this.day.number) this.day = { number, text: dayOf(new Date(number * DAY)) };
    return this.day.text;
  }

  private addRow(count: AccessCount): void {
    const { day, principal, actingFor, field } = count;
    // No part contains NUL.
    const key = `${day}\0${principal}\0${actingFor}\0${field}`;
    const row = this.rows.get(key);
    if (row !== undefined) {
      row.requests += count.requests;
      row.users += count.users;
    } else if (this.rows.size >= MAX_WAITING_ROWS && principal !== OTHERS.principal)
      this.addRow({ ...count, ...OTHERS });
    else this.rows.set(key, { ...count });
  }

  private async write(): Promise<void> {
    try {
      await this.prune();
      while (this.rows.size > 0) await this.writeRows();
      this.incident.end('The access log is written again');
    } catch (error) {
      this.incident.note(`The access log waits to be written: ${String(error)}`);
    }
  }

  /** If the connection breaks after the statement and before its result, the rows count twice, which is better than not at all. */
  private async writeRows(): Promise<void> {
    const oldest = [...this.rows].slice(0, ROWS_PER_STATEMENT);
    const rows = oldest.map(([key, row]) => {
      this.rows.delete(key);
      return row;
    });
    const columns = arraysOf(rows, 'day', 'principal', 'actingFor', 'field', 'requests', 'users');
    try {
      await this.accessLog.query(ADD, columns);
    } catch (error) {
      for (const row of rows) this.addRow(row);
      throw error;
    }
  }

  /** Deletes old days, once a day and once after a start, because the setting may have changed. */
  private async prune(): Promise<void> {
    const today = dayOf(new Date());
    if (this.prunedOn === today) return;
    await (this.isOff
      ? this.accessLog.deleteAll()
      : this.accessLog.query(DELETE_EXPIRED, [this.days, today]));
    this.prunedOn = today;
  }
}
