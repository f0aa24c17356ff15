import { Logger } from '@nestjs/common';
import pg from 'pg';
import { ServiceError } from '../../common/errors.js';
import { OpenConnections } from './open-connections.js';
import { ORPHANED } from './diverged-replica.js';
import { queryPatiently } from './query-with-timeout.js';
import { serverPoolOptions } from './pool-options.js';
import { Pulse } from './heartbeat.js';
import { readThrough } from '../statements/reader.js';
import { reasonOf } from './reason-of.js';
import { type Revision, revisionIn } from '../revisions/revision.js';
import { SharedConnections } from './pipelined-connections.js';
import type { Statement } from '../statements/statement.js';

/** Milliseconds between two looks at what it has: for so long it is left alone after a revision, though it may have it. */
const INTERVAL = 250;
/** Milliseconds that a connection may take to be opened: the primary is there to be asked instead. */
const CONNECTION_TIMEOUT = 500;

const LOOK =
  'select pg_is_in_recovery() as "isReplica", revision as number, revision_uuid as id from mirror_state';

interface Seen {
  readonly isReplica: boolean;
  readonly number: number | null;
  readonly id: string | null;
}

/** One read replica, which is asked while it is well. */
export class Replica {
  private readonly logger = new Logger('Database');
  private readonly connections = new OpenConnections();
  private readonly pool: pg.Pool;
  private readonly shared: SharedConnections;
  /** As it goes by in the log: without user and password. */
  private readonly host: string;
  /** What it had when it was looked at last; null: it is not to be asked. */
  private revision: Revision | null = null;
  /** Why it is left alone; null: it is not. */
  private reason: string | null = null;
  private hasSharedSessions = false;
  /** How often in succession the primary did not know its revision. */
  private unknown = 0;
  private isComparing = false;

  /** @param hasHad whether the primary has a revision, or had it before */
  constructor(
    private readonly url: string,
    poolSize: number,
    private readonly hasHad: (id: string) => Promise<boolean>,
  ) {
    this.host = new URL(url).host;
    this.pool = new pg.Pool({
      connectionString: url,
      ...serverPoolOptions(poolSize, this.connections),
      connectionTimeoutMillis: CONNECTION_TIMEOUT,
    });
    // An idle connection was lost: the next reader opens another one.
    this.pool.on('error', () => undefined);
    this.shared = new SharedConnections(this.pool);
  }

  /** Looks at it until the signal, and then lets go of it. */
  async watch(signal: AbortSignal): Promise<void> {
    const pulse = new Pulse<Seen>(
      { url: this.url, greeting: null, text: LOOK, interval: INTERVAL },
      {
        onAnswer: (seen) => {
          this.take(seen);
        },
        onLost: (error) => {
          this.leave(reasonOf(error));
        },
        onDoubt: () => {
          this.leave('it does not answer');
          // Who waits for it is answered by the primary.
          this.connections.breakOff();
        },
      },
    );
    await pulse.feel(signal);
  }

  async close(): Promise<void> {
    await this.pool.end();
  }

  /** Its name, what it has, and its connections. */
  get standing(): { readonly host: string; readonly revision: Revision | null; readonly pool: pg.Pool } {
    const { host, revision, pool } = this;
    return { host, revision, pool };
  }

  /** While a pooler in between shares sessions it is left alone. */
  noteSharedSessions(isShared: boolean): void {
    this.hasSharedSessions = isShared;
    if (isShared) this.leave('its sessions are shared by a pooler');
  }

  /** Whether it can be asked for what is of this revision. */
  has({ id }: Revision): boolean {
    return this.revision?.id === id;
  }

  /**
   * Runs one statement.
   * @returns null when it came to nothing for a reason that the primary need not share
   * @throws ServiceError TIMEOUT when it takes too long
   */
  async read<Row extends unknown[]>(statement: Statement, values: readonly unknown[]): Promise<Row[] | null> {
    try {
      const { pool, shared } = this;
      return await readThrough(
        (query) => (statement.isShort ? shared.query<Row>(query) : queryPatiently<Row>(pool, query)),
        statement,
        values,
      );
    } catch (error) {
      if (error instanceof ServiceError && error.code === 'TIMEOUT') throw error;
      // Until the next look.
      this.revision = null;
      return null;
    }
  }

  private take(seen: Seen | undefined): void {
    if (this.hasSharedSessions) return;
    if (seen?.isReplica !== true) {
      this.leave('it is no replica');
      return;
    }
    const revision = revisionIn(seen);
    if (revision !== null) void this.compare(revision);
    // A replica can show a revision a moment before the primary does: one look decides nothing.
    if (this.unknown > 1) {
      this.leave(ORPHANED);
      return;
    }
    this.revision = revision;
    if (this.reason !== null) this.logger.log(`The replica ${this.host} is read from again`);
    this.reason = null;
  }

  /** For the log and the metrics only: a replica is asked for nothing but the revision that the primary has now. */
  private async compare({ id }: Revision): Promise<void> {
    if (this.isComparing) return;
    this.isComparing = true;
    try {
      this.unknown = (await this.hasHad(id)) ? 0 : this.unknown + 1;
    } catch {
      // The primary is away: the next look asks it again.
    } finally {
      this.isComparing = false;
    }
  }

  private leave(reason: string): void {
    this.revision = null;
    if (this.reason === null) this.logger.warn(`The replica ${this.host} is left alone: ${reason}`);
    this.reason = reason;
  }
}
