import { Logger } from '@nestjs/common';
import pg from 'pg';
import { ServiceError } from '../../common/errors.js';
import { Incident } from '../../common/incident.js';
import { OpenConnections, poolOptions } from './pool-options.js';
import { DatabaseHeartbeat } from './heartbeat.js';
import { StatementPool } from './statement-pool.js';
import { timeLimitsFor } from './time-limits.js';
import { reasonOf } from './database-start.error.js';
import { type Revision, revisionIn } from '../revisions/revision.js';
import type { Statement } from '../statements/statement.js';
import { settlesWithin } from './settles-within.js';

/** Rejection reason of a replica whose server has another history, for example after a failover. */
const ORPHANED = 'it has a revision that the primary never had';

const HAS_HAD = 'select exists (select from revisions where uuid = $1::uuid) as "hasHad"';

export async function hasHadRevision(primary: pg.Pool, id: string): Promise<boolean> {
  const { rows } = await primary.query<{ hasHad: boolean }>(HAS_HAD, [id]);
  return rows[0]?.hasHad === true;
}

/** Milliseconds between two checks. After a new revision the replica is unused until the next check. */
const INTERVAL = 250;
/** Milliseconds to open a connection: few, because the primary can answer instead. */
const CONNECTION_TIMEOUT = 500;

const READ_STATE =
  'select pg_is_in_recovery() as "isReplica", revision as number, revision_uuid as id from mirror_state';

interface Seen {
  readonly isReplica: boolean;
  readonly number: number | null;
  readonly id: string | null;
}

/** One read replica. It is used only while it is healthy. */
export class ReadReplica {
  private readonly incident = new Incident(new Logger('Database'));
  private readonly connections = new OpenConnections();
  private readonly pool: pg.Pool;
  private readonly statements: StatementPool;
  /** Host name in the log, without user and password. */
  private readonly host: string;
  /** The revision that the latest check found; null if the replica must not be used. */
  private revision: Revision | null = null;
  /** Why the replica is not used; null if it is used. */
  private reason: string | null = null;
  private hasSharedSessions = false;
  /** Number of consecutive checks in which the primary did not know the revision of the replica. */
  private unknown = 0;
  private isComparing = false;

  /** @param hasHad whether the primary has or had a revision */
  constructor(
    private readonly url: string,
    { poolSize, timeoutSeconds }: { readonly poolSize: number; readonly timeoutSeconds: number },
    private readonly hasHad: (id: string) => Promise<boolean>,
  ) {
    this.host = new URL(url).host;
    const limits = timeLimitsFor(timeoutSeconds);
    this.pool = new pg.Pool({
      connectionString: url,
      ...poolOptions(poolSize, limits, this.connections),
      connectionTimeoutMillis: CONNECTION_TIMEOUT,
    });
    // An idle connection was lost. The next reader opens another one.
    this.pool.on('error', () => undefined);
    this.statements = new StatementPool(this.pool, limits);
  }

  async watch(signal: AbortSignal): Promise<void> {
    const heartbeat = new DatabaseHeartbeat<Seen>(
      { url: this.url, firstSql: null, text: READ_STATE, interval: INTERVAL },
      {
        onAnswer: (seen) => {
          this.take(seen);
        },
        onLost: (error) => {
          this.leave(reasonOf(error));
        },
        onDoubt: () => {
          this.leave('it does not answer');
          // The primary then answers the requests that wait for the replica.
          this.connections.destroyAll();
        },
      },
    );
    await heartbeat.run(signal);
  }

  async close(): Promise<void> {
    await this.pool.end();
  }

  /** Host, revision and connections of the replica. */
  get state(): { readonly host: string; readonly revision: Revision | null; readonly pool: pg.Pool } {
    const { host, revision, pool } = this;
    return { host, revision, pool };
  }

  /** Stops using the replica while a pooler in between shares sessions. */
  noteSharedSessions(isShared: boolean): void {
    this.hasSharedSessions = isShared;
    if (isShared) this.leave('its sessions are shared by a pooler');
  }

  has({ id }: Revision): boolean {
    return this.revision?.id === id;
  }

  /** Runs one statement. Null if it failed for a reason of the replica; throws ServiceError TIMEOUT. */
  async read<Row extends unknown[]>(statement: Statement, values: readonly unknown[]): Promise<Row[] | null> {
    try {
      return await this.statements.read<Row>(statement, values);
    } catch (error) {
      if (error instanceof ServiceError && error.code === 'TIMEOUT') throw error;
      // The replica stays unused until the next check.
      this.revision = null;
      return null;
    }
  }

  private take(seen: Seen | undefined): void {
    if (this.hasSharedSessions) return;
    if (seen?.isReplica !== true) {
      this.leave('it is not a replica');
      return;
    }
    const revision = revisionIn(seen);
    if (revision !== null) void this.compare(revision);
    // A replica can show a revision a moment before the primary does, so a single check is not sufficient.
    if (this.unknown > 1) {
      this.leave(ORPHANED);
      return;
    }
    this.revision = revision;
    this.incident.end(`The replica ${this.host} is used again`);
    this.reason = null;
  }

  /** For the log and metrics only: the replica is used only while it has the revision of the primary. */
  private async compare({ id }: Revision): Promise<void> {
    if (this.isComparing) return;
    this.isComparing = true;
    try {
      this.unknown = (await this.hasHad(id)) ? 0 : this.unknown + 1;
    } catch {
      // The primary is unavailable. The next check compares again.
    } finally {
      this.isComparing = false;
    }
  }

  private leave(reason: string): void {
    this.revision = null;
    this.incident.note(`The replica ${this.host} is not used: ${reason}`);
    this.reason = reason;
  }
}

/** Milliseconds that each step of a check may take. */
const STEP_TIMEOUT_MS = 2000;

const IDENTIFY = `
  select (select system_identifier from pg_control_system())::text || ' ' || current_database() as "whose",
    pg_is_in_recovery() as "isReplica"`;

/** Sent to replicas only: another database may not have the table. */
const READ_REVISION = 'select revision_uuid::text as revision from mirror_state';

interface Identity {
  readonly whose: string;
  readonly isReplica: boolean;
}

/** Why a URL does not lead to a usable read replica of `primary`; null if it does. */
export async function checkReplica(url: string, primary: pg.Pool): Promise<string | null> {
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: STEP_TIMEOUT_MS,
    query_timeout: STEP_TIMEOUT_MS,
  });
  client.on('error', () => undefined);
  try {
    await client.connect();
    const [here, there] = await Promise.all([
      primary.query<Identity>(IDENTIFY),
      client.query<Identity>(IDENTIFY),
    ]);
    if (there.rows[0]?.whose !== here.rows[0]?.whose) return 'it has the data of another server or database';
    if (there.rows[0]?.isReplica !== true) return 'it is not a replica';
    // After a failover the replica may follow a server that is no longer the primary.
    const { rows } = await client.query<{ revision: string | null }>(READ_REVISION);
    const revision = rows[0]?.revision ?? null;
    return revision === null || (await hasHadRevision(primary, revision)) ? null : ORPHANED;
  } catch (error) {
    return reasonOf(error);
  } finally {
    await settlesWithin(STEP_TIMEOUT_MS, client.end());
  }
}
