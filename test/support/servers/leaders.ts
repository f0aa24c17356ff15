import pg from 'pg';
import { buildLdif } from '../builders/directory.js';
import { post, send } from '../clients/http.js';
import { readSamples } from '../clients/metrics.js';
import type { ServiceProcess } from './service-processes.js';

/** The advisory lock that the leader holds in a session of its own: the bytes of «sync». */
export const LEADER_LOCK = 0x73796e63;

/** A directory in which the name of the only user contains the number of its version. */
export const directoryOfVersion = (version: number) => buildLdif([{ id: 'anna', name: `Anna ${version}` }]);

/** A connection of the test to a database of services. */
export class Observer {
  private constructor(private readonly client: pg.Client) {}

  static async open(url: string): Promise<Observer> {
    const client = new pg.Client(url);
    client.on('error', () => undefined);
    await client.connect();
    return new Observer(client);
  }

  async close(): Promise<void> {
    await this.client.end();
  }

  async run(statement: string): Promise<void> {
    await this.client.query(statement);
  }

  /** The number of the leader, which increases with each one. */
  async leader(): Promise<number> {
    const { rows } = await this.client.query<{ leader: number }>('select leader::integer from mirror_state');
    return rows[0]?.leader ?? 0;
  }

  /** The session that holds the advisory lock of the leader. */
  async leaderSession(): Promise<number | null> {
    const { rows } = await this.client.query<{ pid: number }>(
      `select pid from pg_locks where locktype = 'advisory' and objid = $1 and granted
         and database = (select oid from pg_database where datname = current_database())`,
      [LEADER_LOCK],
    );
    return rows[0]?.pid ?? null;
  }

  /** Sessions that wait for a lock of another connection. Within a transaction, the result does not change. */
  async countBlockedBy(other: Observer): Promise<number> {
    const { rows } = await this.client.query<{ count: number }>(
      'select count(*)::integer from pg_stat_activity where $1 = any (pg_blocking_pids(pid))',
      [(other.client as unknown as { processID: number }).processID],
    );
    return rows[0]?.count ?? 0;
  }

  /** Names of users, and the number of revisions. */
  async contents(): Promise<{ name: string; revisions: number }> {
    const { rows } = await this.client.query<{ name: string; revisions: number }>(
      'select (select name from users) as name, (select count(*)::integer from revisions) as revisions',
    );
    return rows[0] ?? { name: '', revisions: 0 };
  }
}

/** How often a process has logged that another one leads. */
export const countWaiting = ({ process }: ServiceProcess) =>
  process.stdout.split('Another process runs the synchronization').length - 1;

interface Status {
  readonly state: string;
  readonly blockedReason: string | null;
}

export async function readServiceStatus(
  service: ServiceProcess,
  headers: Record<string, string> = {},
): Promise<Status> {
  const query = '{ directoryStatus { state blockedReason } }';
  const answer = await post(service, { query }, headers);
  return (JSON.parse(answer.body) as { data: { directoryStatus: Status } }).data.directoryStatus;
}

export async function readMetric(service: ServiceProcess, name: string): Promise<number> {
  const { body } = await send(service, { path: '/metrics' });
  return readSamples(body).find((each) => each.name === name)?.value ?? NaN;
}
