import pg from 'pg';
import { buildLdif } from '../support/builders/directory.js';
import { send } from '../support/clients/http.js';
import { readSamples } from '../support/clients/metrics.js';
import { eventually } from '../support/eventually.js';
import { type ServiceProcess, ServiceProcesses } from '../support/servers/service-processes.js';
import { TestService } from '../support/servers/service.js';
import { TestProxy } from '../support/servers/proxy.js';
import { administrate, ReplicatedPostgres } from '../support/servers/replicated-postgres.js';

/** The advisory lock that the leader holds in a session of its own: the bytes of «sync». */
const LEADER_LOCK = 0x73796e63;

/** A directory in which the name of the only user contains the number of its version. */
const directoryOfVersion = (version: number) => buildLdif([{ id: 'anna', name: `Anna ${version}` }]);

/** A connection of the test to a database of services. */
class Observer {
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
const countWaiting = ({ process }: ServiceProcess) =>
  process.stdout.split('Another process runs the synchronization').length - 1;

async function readMetric(service: ServiceProcess, name: string): Promise<number> {
  const { body } = await send(service, { path: '/metrics' });
  return readSamples(body).find((each) => each.name === name)?.value ?? NaN;
}

it('applies nothing on a promoted standby with the number and the lock of the former primary', async () => {
  const servers = await ReplicatedPostgres.start();
  const { primary, standby } = servers;
  const target = { host: '127.0.0.1', port: primary.port };
  const proxy = await TestProxy.start(target);
  const service = await TestService.start({
    ldif: directoryOfVersion(1),
    environment: { DATABASE_URL: `postgres://postgres@127.0.0.1:${proxy.port}/directory` },
    compared: false,
  });
  const isOfService = `pid <> pg_backend_pid() and application_name <> 'observer'`;
  const named = (server: { url(database: string): string }) =>
    Observer.open(`${server.url('directory')}?application_name=observer`);
  const [old, promoted] = await Promise.all([named(primary), named(standby)]);
  try {
    await eventually(() => promoted.contents(), { name: 'Anna 1', revisions: 1 });
    await standby.promote();
    // New connections lead to the promoted server; the session with the lock stays on the old one.
    target.port = standby.port;
    const holdsLock = `pid in (select pid from pg_locks where locktype = 'advisory' and objid = ${LEADER_LOCK})`;
    await administrate(
      primary,
      'directory',
      `select pg_terminate_backend(pid) from pg_stat_activity
       where datname = 'directory' and ${isOfService} and not ${holdsLock}`,
    );
    expect(await old.leaderSession()).not.toBeNull();
    expect(await promoted.leaderSession()).toBeNull();
    const before = await promoted.leader();
    service.replaceDirectory(directoryOfVersion(2));
    await eventually(() => promoted.contents(), { name: 'Anna 2', revisions: 2 });
    expect(await promoted.leader()).toBe(before + 1);
    expect(await promoted.leaderSession()).not.toBeNull();
    // The former primary may have the revision as well, but no connection reads it.
    expect(await old.leaderSession()).toBeNull();
  } finally {
    await old.close();
    await promoted.close();
    await service.stop();
    await proxy.stop();
    await servers.stop();
  }
});

describe.each([2, 3])('%i processes on one database', (count) => {
  let processes: ServiceProcesses;
  let observer: Observer;
  /** Holds locks that a revision needs, late in its transaction. */
  let locking: Observer;
  let version = 1;

  beforeAll(async () => {
    processes = await ServiceProcesses.start(count, directoryOfVersion(version));
    observer = await Observer.open(processes.database.url);
    locking = await Observer.open(processes.database.url);
  });

  afterAll(async () => {
    await locking.close();
    await observer.close();
    await processes.stop();
  });

  function replaceDirectory(): string {
    version++;
    processes.replaceDirectory(directoryOfVersion(version));
    return `Anna ${version}`;
  }

  async function findLeader(): Promise<ServiceProcess> {
    const leads = () => Promise.all(processes.each.map((each) => readMetric(each, 'directory_leader')));
    await eventually(async () => (await leads()).reduce((sum, each) => sum + each, 0), 1);
    const leader = processes.each[(await leads()).indexOf(1)];
    if (leader === undefined) throw new Error('No process leads');
    return leader;
  }

  it('replace a leader that hangs within a revision, of which nothing remains', async () => {
    const leader = await findLeader();
    const { revisions } = await observer.contents();
    const before = await observer.leader();
    const waited = countWaiting(leader);
    await locking.run('begin; lock table revisions in share mode');
    replaceDirectory();
    await eventually(() => observer.countBlockedBy(locking), 1);
    leader.process.freeze();
    try {
      const name = replaceDirectory();
      // Its statement ends, and its transaction stays open until the server ends it. It holds locks that the next leader needs.
      await locking.run('rollback');
      await eventually(() => observer.leader(), before + 1);
      await eventually(() => observer.contents(), { name, revisions: revisions + 1 });
    } finally {
      leader.process.resume();
    }
    await eventually(() => Promise.resolve(countWaiting(leader)), waited + 1);
    const name = replaceDirectory();
    await eventually(() => observer.contents(), { name, revisions: revisions + 2 });
  });
});

it('a process applies nothing after another one has become the leader without its notice', async () => {
  const service = await TestService.start({ ldif: directoryOfVersion(1) });
  const observer = await Observer.open(service.config.database.url);
  try {
    const { revisions } = await observer.contents();
    await observer.run('update mirror_state set leader = leader + 1');
    const other = await observer.leader();
    service.replaceDirectory(directoryOfVersion(2));
    // It applies the change with a new number.
    await eventually(() => observer.contents(), { name: 'Anna 2', revisions: revisions + 1 });
    expect(await observer.leader()).toBe(other + 1);
  } finally {
    await observer.close();
    await service.stop();
  }
});
