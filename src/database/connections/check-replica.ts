import pg from 'pg';
import { hasHadRevision, ORPHANED } from './diverged-replica.js';
import { reasonOf } from './reason-of.js';
import { settlesWithin } from './settles-within.js';

/** Milliseconds that each step of a check may take. */
const PATIENCE = 2000;

const LOOK = `
  select (select system_identifier from pg_control_system())::text || ' ' || current_database() as "whose",
    pg_is_in_recovery() as "isReplica"`;

/** Sent to replicas only: another database may not have the table. */
const LOOK_AT_REVISION = 'select revision_uuid::text as revision from mirror_state';

interface Seen {
  readonly whose: string;
  readonly isReplica: boolean;
}

/**
 * Checks once whether a URL leads to a read replica of a server.
 * @param primary connections to that server
 * @returns why the replica would not or must not be used; null if it would be used
 */
export async function examineReplica(url: string, primary: pg.Pool): Promise<string | null> {
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: PATIENCE,
    query_timeout: PATIENCE,
  });
  client.on('error', () => undefined);
  try {
    await client.connect();
    const [here, there] = await Promise.all([primary.query<Seen>(LOOK), client.query<Seen>(LOOK)]);
    if (there.rows[0]?.whose !== here.rows[0]?.whose) return 'it has the data of another server or database';
    if (there.rows[0]?.isReplica !== true) return 'it is no replica';
    // After a failover the replica may follow a server that is no longer the primary.
    const { rows } = await client.query<{ revision: string | null }>(LOOK_AT_REVISION);
    const revision = rows[0]?.revision ?? null;
    return revision === null || (await hasHadRevision(primary, revision)) ? null : ORPHANED;
  } catch (error) {
    return reasonOf(error);
  } finally {
    await settlesWithin(PATIENCE, client.end());
  }
}
