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
import { type AccessCount, actorOf, type AuditActor, dayOf, OTHERS, SIGNED_URL } from './access-counts.js';
import { AccessLogEntity } from './access-log.entity.js';
import type { PersonalDataAccess } from './personal-data.decorator.js';

/** Time between two writes. A process that is killed may lose the counts of this time. */
const WRITE_INTERVAL_MS = 5000;
/** Time that the last write has, so that a database that hangs does not block the shutdown. */
const LAST_WRITE_TIMEOUT_MS = 3000;
/** Accesses that are noted before they are summed up. Each takes about a hundred bytes until then. */
const MAX_NOTES = 20_000;
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

interface Notes {
  readonly actor: AuditActor;
  /** How often the actor had each access. */
  readonly times: Map<PersonalDataAccess, number>;
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
  /** By actor, since they were last summed up. */
  private notes = new Map<string, Notes>();
  private noted = 0;
  /** Counts that wait to be written, by what identifies their row. */
  private readonly rows = new Map<string, AccessCount>();
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
      if (!isOver || this.rows.size > 0)
        this.logger.warn('The last counts of the access log could not be written');
    };
  }

  /** Notes that a principal reads personal data. It is cheapest to pass the same object for the same access. */
  note(principal: Principal, access: PersonalDataAccess): void {
    if (!this.isOff) this.add(actorOf(principal), access);
  }

  /** Notes that the holder of a signed URL gets a picture. */
  noteSignedUrl(access: PersonalDataAccess): void {
    if (!this.isOff) this.add(SIGNED_URL, access);
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

  private add(actor: AuditActor, access: PersonalDataAccess): void {
    const key = `${actor.principal}\n${actor.actingFor}`;
    let notes = this.notes.get(key);
    if (notes === undefined) this.notes.set(key, (notes = { actor, times: new Map() }));
    notes.times.set(access, (notes.times.get(access) ?? 0) + 1);
    if (++this.noted >= MAX_NOTES) this.sumUp();
  }

  private sumUp(): void {
    const day = dayOf(new Date());
    for (const { actor, times } of this.notes.values()) {
      // By field first, because finding a row costs most.
      const sums = new Map<string, Pick<AccessCount, 'requests' | 'users'>>();
      for (const [{ fields, users: shown }, count] of times) {
        for (const [index, field] of fields.entries()) {
          const { requests = 0, users = 0 } = sums.get(field) ?? {};
          const more = shown[index] ?? 0;
          if (more > 0) sums.set(field, { requests: requests + count, users: users + count * more });
        }
      }
      for (const [field, sum] of sums) this.addRow({ day, ...actor, field, ...sum });
    }
    // A new map, because V8 keeps the table of a cleared one until the next full collection.
    this.notes = new Map();
    this.noted = 0;
  }

  private addRow(count: AccessCount): void {
    const { day, principal, actingFor, field } = count;
    // JSON, because ids may contain any separator.
    const key = JSON.stringify([day, principal, actingFor, field]);
    const row = this.rows.get(key);
    if (row === undefined && this.rows.size >= MAX_WAITING_ROWS && principal !== OTHERS.principal)
      this.addRow({ ...count, ...OTHERS });
    else {
      const { requests = 0, users = 0 } = row ?? {};
      this.rows.set(key, { ...count, requests: requests + count.requests, users: users + count.users });
    }
  }

  private async write(): Promise<void> {
    this.sumUp();
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
    for (const [key] of oldest) this.rows.delete(key);
    const rows = oldest.map(([, row]) => row);
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
