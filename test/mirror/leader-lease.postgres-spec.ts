import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { post } from '../support/clients/http.js';
import { eventually } from '../support/eventually.js';
import {
  countWaiting,
  directoryOfVersion,
  LEADER_LOCK,
  EXPECTED_LEASE_MS,
  Observer,
  readMetric,
  readServiceStatus,
} from '../support/servers/leaders.js';
import { type ServiceProcess, ServiceProcesses } from '../support/servers/service-processes.js';
import { TestService } from '../support/servers/service.js';

/** Milliseconds between two looks of a process that waits at the lease. */
const LOOK = 3000;
const QUESTION = '{ user(user: {id: "anna"}) { name } }';
/** Looks by which a leader that hangs is certainly replaced: those of 30 seconds. */
const MOST_LOOKS = (2 * EXPECTED_LEASE_MS) / LOOK;

describe('of two processes on one database', () => {
  let processes: ServiceProcesses;
  let observer: Observer;
  /** Holds locks that an apply needs, late in its transaction. */
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

  /** The process that leads by its own account, and the other one. */
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

  it('the one that leads is replaced when it hangs, and follows when it goes on', async () => {
    const { leader, other } = await findLeader();
    const { revisions } = await observer.contents();
    const before = await observer.lease();
    const waited = countWaiting(leader);
    process.kill(leader.process.id, 'SIGSTOP');
    try {
      const name = replaceDirectory();
      expect(await observer.countLooksUntilTakenOver(before.token)).toBeLessThanOrEqual(MOST_LOOKS);
      await eventually(() => observer.contents(), { name, revisions: revisions + 1 });
      expect((await observer.lease()).token).toBe(before.token + 1);
    } finally {
      process.kill(leader.process.id, 'SIGCONT');
    }
    await eventually(() => Promise.resolve(countWaiting(leader)), waited + 1);
    const name = replaceDirectory();
    await eventually(() => observer.contents(), { name, revisions: revisions + 2 });
    expect(other.process.stdout).toContain('its sessions were ended');
    expect((await observer.lease()).token).toBe(before.token + 1);
  });

  it('the one that hangs in the middle of applying a change is replaced, and nothing of the change stays', async () => {
    const { leader } = await findLeader();
    const { revisions } = await observer.contents();
    const waited = countWaiting(leader);
    await locking.run('begin; lock table revisions in share mode');
    replaceDirectory();
    await eventually(() => observer.countBlockedBy(locking), 1);
    const { token } = await observer.lease();
    process.kill(leader.process.id, 'SIGSTOP');
    try {
      const name = replaceDirectory();
      // Its statement ends, and its transaction stays open: it holds what the next leader needs.
      await locking.run('rollback');
      expect(await observer.countLooksUntilTakenOver(token)).toBeLessThanOrEqual(MOST_LOOKS);
      await eventually(() => observer.contents(), { name, revisions: revisions + 1 });
    } finally {
      process.kill(leader.process.id, 'SIGCONT');
    }
    await eventually(() => Promise.resolve(countWaiting(leader)), waited + 1);
    const name = replaceDirectory();
    await eventually(() => observer.contents(), { name, revisions: revisions + 2 });
  });

  it('the one that hangs while a statement of it runs is replaced too', async () => {
    const { leader } = await findLeader();
    const { revisions } = await observer.contents();
    const before = await observer.lease();
    const waited = countWaiting(leader);
    await locking.run('begin; lock table revisions in share mode');
    const name = replaceDirectory();
    await eventually(() => observer.countBlockedBy(locking), 1);
    process.kill(leader.process.id, 'SIGSTOP');
    try {
      // The statement never ends by itself: the next leader waits behind the same lock, and no longer behind this one.
      await eventually(async () => (await observer.lease()).token, before.token + 1);
      await eventually(() => observer.countBlockedBy(locking), 1);
      await locking.run('rollback');
      await eventually(() => observer.contents(), { name, revisions: revisions + 1 });
    } finally {
      process.kill(leader.process.id, 'SIGCONT');
    }
    await eventually(() => Promise.resolve(countWaiting(leader)), waited + 1);
    expect(await observer.contents()).toEqual({ name, revisions: revisions + 1 });
  });

  it('the one whose lock was lost in the middle of applying a change applies nothing', async () => {
    await findLeader();
    const { revisions } = await observer.contents();
    const before = await observer.lease();
    await locking.run('begin; lock table revisions in share mode');
    const name = replaceDirectory();
    await eventually(() => observer.countBlockedBy(locking), 1);
    await observer.end(await observer.leaderSession());
    await eventually(async () => (await observer.lease()).token, before.token + 1);
    await locking.run('rollback');
    await eventually(() => observer.contents(), { name, revisions: revisions + 1 });
  });

  it.each([
    ['the table', 'lock table leader_lease'],
    ['the row', 'select from leader_lease for update'],
  ])('the one whose lease is locked (%s) reports it, and both go on answering', async (_, lock) => {
    const { leader, other } = await findLeader();
    const { authorization } = leader;
    const before = await observer.contents();
    const printed = leader.process.stdout.length;
    await locking.run(`begin; ${lock}`);
    for (const each of [leader, other]) {
      await eventually(() => readServiceStatus(each), {
        state: 'RUNNING',
        blockedReason: 'A change waits for a lock that another session of the database holds',
      });
    }
    expect(leader.process.stdout.slice(printed)).toMatch(
      /(A change|The synchronization) waits for a lock that another session of the database holds \(\d+, idle in transaction\)/,
    );
    expect(await readMetric(leader, 'directory_mirror_lock_wait_seconds')).toBeGreaterThan(0);
    const name = replaceDirectory();
    await eventually(async () => (await observer.countBlockedBy(locking)) > 0, true);
    // Each process has at most one session that waits to lead and one with a change: no further one is left behind.
    for (let time = 0; time < 20; time++) {
      expect(await observer.countBlockedBy(locking)).toBeLessThanOrEqual(4);
      for (const each of [leader, other]) {
        const answer = await post(each, { query: QUESTION }, { authorization });
        expect([answer.status, answer.body]).toEqual([200, expect.stringContaining(before.name)]);
      }
      await sleep(500);
    }
    await locking.run('rollback');
    await eventually(() => observer.contents(), { name, revisions: before.revisions + 1 });
    for (const each of [leader, other]) {
      await eventually(async () => (await readServiceStatus(each)).blockedReason, null);
    }
  });

  it('the one that waits for a lock says so wherever it is asked, and ends when it is told to', async () => {
    const { leader, other } = await findLeader();
    const before = await observer.contents();
    await locking.run('begin; lock table revisions in share mode');
    const name = replaceDirectory();
    const { authorization } = leader;
    for (const each of [leader, other]) {
      await eventually(() => readServiceStatus(each, { authorization }), {
        state: 'RUNNING',
        blockedReason: 'A change waits for a lock that another session of the database holds',
      });
    }
    expect(leader.process.stdout).toMatch(
      /A change waits for a lock that another session of the database holds \(\d+, idle in transaction\)/,
    );
    expect(await readMetric(leader, 'directory_mirror_lock_wait_seconds')).toBeGreaterThan(0);
    expect(await readMetric(other, 'directory_mirror_lock_wait_seconds')).toBe(0);

    // It ends although the lock is still held.
    expect((await leader.process.kill('SIGTERM')).code).toBe(0);
    expect(await observer.contents()).toEqual(before);
    // The other one waits for the same lock, and has the change when it is free.
    await eventually(() => observer.countBlockedBy(locking), 1);
    await locking.run('rollback');
    await eventually(() => observer.contents(), { name, revisions: before.revisions + 1 });
    await eventually(async () => (await readServiceStatus(other, { authorization })).blockedReason, null);
  });
});

describe('a process that believes that it leads', () => {
  it('applies nothing once another one has the lease', async () => {
    const service = await TestService.start({ ldif: directoryOfVersion(1) });
    const { database } = service.config;
    const observer = await Observer.open(database.kind === 'postgres' ? database.url : '');
    try {
      const before = await observer.lease();
      const [first] = await Promise.all([observer.contents()]);
      await observer.run('update leader_lease set token = token + 1, holder = gen_random_uuid()');
      service.replaceDirectory(directoryOfVersion(2));
      await eventually(() => observer.contents(), { name: 'Anna 2', revisions: first.revisions + 1 });
      // It did not apply the change by the lease that it had lost, but by one that it has taken since.
      const after = await observer.lease();
      expect(after.token).toBe(before.token + 2);
      expect(after.holder).not.toBe(before.holder);
    } finally {
      await observer.close();
      await service.stop();
    }
  });

  it('leaves the lead to a process of a release that knows no lease', async () => {
    const processes = await ServiceProcesses.start(1, directoryOfVersion(1));
    const [service] = processes.each;
    const observer = await Observer.open(processes.database.url);
    const old = new pg.Client(processes.database.url);
    await old.connect();
    try {
      // It waits for the advisory lock, which is all that it knows.
      const leading = old.query('select pg_advisory_lock($1)', [LEADER_LOCK]);
      await observer.end(await observer.leaderSession());
      await leading;
      const { token } = await observer.lease();
      const before = await observer.contents();
      processes.replaceDirectory(directoryOfVersion(2));
      await eventually(() => Promise.resolve(service === undefined ? 0 : countWaiting(service)), 1);
      await sleep(EXPECTED_LEASE_MS + 5000);
      expect(await observer.leaderSession()).not.toBeNull();
      expect([await observer.contents(), (await observer.lease()).token]).toEqual([before, token]);
      await old.end();
      await eventually(() => observer.contents(), { name: 'Anna 2', revisions: before.revisions + 1 });
    } finally {
      await observer.close();
      await processes.stop();
    }
  });
});
