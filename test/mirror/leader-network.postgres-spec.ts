import { join } from 'node:path';
import { eventually } from '../support/eventually.js';
import { directoryOfVersion, Observer, readServiceStatus } from '../support/servers/leaders.js';
import { startPostgres, type TestPostgres } from '../support/servers/postgres.mjs';
import { TestProxy } from '../support/servers/proxy.js';
import { administrate } from '../support/servers/replicated-postgres.js';
import { type ServiceProcess, ServiceProcesses } from '../support/servers/service-processes.js';
import { variable } from '../support/servers/store.js';

/** Defaults of a role that change the format of instants, bytes and numbers, end sessions, and make transactions fail. */
const ODD_DEFAULTS = {
  datestyle: `'German, DMY'`,
  timezone: `'Africa/Monrovia'`,
  bytea_output: `'escape'`,
  extra_float_digits: '-15',
  default_transaction_isolation: `'serializable'`,
  lock_timeout: `'50ms'`,
  statement_timeout: `'300ms'`,
  idle_session_timeout: `'2s'`,
  track_activities: 'off',
  search_path: 'odd, public',
};

describe('a single process on a database whose role has unusual defaults', () => {
  let server: TestPostgres;
  let proxy: TestProxy;
  let processes: ServiceProcesses;
  let service: ServiceProcess;
  let observer: Observer;
  let locking: Observer;
  let version = 1;

  beforeAll(async () => {
    server = await startPostgres(join(variable('TEST_WORK_DIRECTORY'), 'network-postgres'), {
      shared_buffers: '16MB',
    });
    await administrate(server, 'postgres', 'create role odd superuser login');
    await administrate(server, 'postgres', 'create database directory owner odd');
    await administrate(server, 'directory', 'create schema odd');
    for (const [name, value] of Object.entries(ODD_DEFAULTS))
      await administrate(server, 'postgres', `alter role odd set ${name} = ${value}`);
    proxy = await TestProxy.start({ host: '127.0.0.1', port: server.port });
    processes = await ServiceProcesses.start(1, directoryOfVersion(version), {
      DATABASE_URL: `postgres://odd@127.0.0.1:${proxy.port}/directory`,
      // A connection that is lost silently is replaced after this limit.
      DATABASE_TIMEOUT_SECONDS: '5',
    });
    const [first] = processes.each;
    if (first === undefined) throw new Error('There is no process');
    service = first;
    observer = await Observer.open(server.url('directory'));
    locking = await Observer.open(server.url('directory'));
    for (const each of [observer, locking]) await each.run('set search_path = odd');
  });

  afterEach(async () => {
    proxy.restore();
    await locking.run('rollback');
  });

  afterAll(async () => {
    await locking.close();
    await observer.close();
    await processes.stop();
    await proxy.stop();
    await server.stop();
  });

  function replaceDirectory(): string {
    version++;
    processes.replaceDirectory(directoryOfVersion(version));
    return `Anna ${version}`;
  }

  /** A change is being applied, and waits for a lock that the test holds. */
  async function beginChange(lock: string): Promise<string> {
    await locking.run(`begin; ${lock}`);
    const name = replaceDirectory();
    await eventually(() => observer.countBlockedBy(locking), 1);
    return name;
  }

  const name = async () => (await observer.contents()).name;

  it('keeps the lead, and follows its directory', async () => {
    const leader = await observer.leader();
    const wanted = replaceDirectory();
    await eventually(name, wanted);
    // Longer than the idle timeout of the role.
    await observer.run('select pg_sleep(4)');
    expect(await observer.leader()).toBe(leader);
    expect(await readServiceStatus(service)).toEqual({ state: 'IDLE', blockedReason: null });
  });

  it('applies a change that waited for a lock on a table of the mirror', async () => {
    const wanted = await beginChange('lock table users in share mode');
    await locking.run('rollback');
    await eventually(name, wanted);
    await eventually(() => readServiceStatus(service), { state: 'IDLE', blockedReason: null });
  });

  it('continues after all its connections are lost silently, during a change and without one', async () => {
    const wanted = await beginChange('lock table revisions in share mode');
    proxy.freeze();
    proxy.restore();
    await locking.run('rollback');
    await eventually(name, wanted);
    proxy.freeze();
    proxy.restore();
    await eventually(name, replaceDirectory());
  });

  it('ends on SIGTERM although a change waits for a lock and the server accepts no connections', async () => {
    await beginChange('select from mirror_state for update');
    await administrate(server, 'postgres', 'alter database directory connection limit 0');
    await administrate(server, 'postgres', 'alter role odd nosuperuser');
    const before = (await observer.contents()).revisions;
    expect((await service.process.kill('SIGTERM')).code).toBe(0);
    await locking.run('rollback');
    await eventually(() => observer.countBlockedBy(locking), 0);
    expect((await observer.contents()).revisions).toBe(before);
  });
});
