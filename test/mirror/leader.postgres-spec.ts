import { eventually } from '../support/eventually.js';
import {
  countWaiting,
  directoryOfVersion,
  Observer,
  readMetric,
  LEADER_LOCK,
} from '../support/servers/leaders.js';
import { type ServiceProcess, ServiceProcesses } from '../support/servers/service-processes.js';
import { TestService } from '../support/servers/service.js';
import { TestProxy } from '../support/servers/proxy.js';
import { endConnections, ReplicatedPostgres } from '../support/servers/replicated-postgres.js';

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
    await endConnections(primary, `${isOfService} and not ${holdsLock}`);
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

describe('two processes on one database', () => {
  let processes: ServiceProcesses;
  let observer: Observer;
  /** Holds locks that a revision needs, late in its transaction. */
  let locking: Observer;
  let version = 1;

  beforeAll(async () => {
    processes = await ServiceProcesses.start(2, directoryOfVersion(version));
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

  /** The current leader and the other process. */
  async function findLeader(): Promise<{ leader: ServiceProcess; other: ServiceProcess }> {
    const [first, second] = processes.each;
    if (first === undefined || second === undefined) throw new Error('There are not two processes');
    const leads = async () => [
      await readMetric(first, 'directory_leader'),
      await readMetric(second, 'directory_leader'),
    ];
    await eventually(async () => (await leads()).reduce((sum, each) => sum + each, 0), 1);
    const [isFirst] = await leads();
    return isFirst === 1 ? { leader: first, other: second } : { leader: second, other: first };
  }

  it('replace a leader that hangs within a revision, of which nothing remains', async () => {
    const { leader } = await findLeader();
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
