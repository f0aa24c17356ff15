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

/** Milliseconds between two attempts of a waiting process at the lease. */
const ATTEMPT_INTERVAL_MS = 3000;
const QUESTION = '{ user(user: {id: "anna"}) { name } }';
/** Number of attempts after which a hanging leader is certainly replaced: those of 30 seconds. */
const MAX_ATTEMPTS = (2 * EXPECTED_LEASE_MS) / ATTEMPT_INTERVAL_MS;

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

  it('replace a hanging leader, which follows afterwards', async () => {
    const { leader, other } = await findLeader();
    const { revisions } = await observer.contents();
    const before = await observer.lease();
    const waited = countWaiting(leader);
    leader.process.freeze();
    try {
      const name = replaceDirectory();
      expect(await observer.countAttemptsUntilTakenOver(before.token)).toBeLessThanOrEqual(MAX_ATTEMPTS);
      await eventually(() => observer.contents(), { name, revisions: revisions + 1 });
      expect((await observer.lease()).token).toBe(before.token + 1);
    } finally {
      leader.process.resume();
    }
    await eventually(() => Promise.resolve(countWaiting(leader)), waited + 1);
    const name = replaceDirectory();
    await eventually(() => observer.contents(), { name, revisions: revisions + 2 });
    expect(other.process.stdout).toContain('its sessions were ended');
    expect((await observer.lease()).token).toBe(before.token + 1);
  });

  it('replace a leader that hangs within a revision, of which nothing remains', async () => {
    const { leader } = await findLeader();
    const { revisions } = await observer.contents();
    const waited = countWaiting(leader);
    await locking.run('begin; lock table revisions in share mode');
    replaceDirectory();
    await eventually(() => observer.countBlockedBy(locking), 1);
    const { token } = await observer.lease();
    leader.process.freeze();
    try {
      const name = replaceDirectory();
      // Its statement ends, and its transaction stays open and holds locks that the next leader needs.
      await locking.run('rollback');
      expect(await observer.countAttemptsUntilTakenOver(token)).toBeLessThanOrEqual(MAX_ATTEMPTS);
      await eventually(() => observer.contents(), { name, revisions: revisions + 1 });
    } finally {
      leader.process.resume();
    }
    await eventually(() => Promise.resolve(countWaiting(leader)), waited + 1);
    const name = replaceDirectory();
    await eventually(() => observer.contents(), { name, revisions: revisions + 2 });
  });

  it('replace a leader that hangs during a statement', async () => {
    const { leader } = await findLeader();
    const { revisions } = await observer.contents();
    const before = await observer.lease();
    const waited = countWaiting(leader);
    await locking.run('begin; lock table revisions in share mode');
    const name = replaceDirectory();
    await eventually(() => observer.countBlockedBy(locking), 1);
    leader.process.freeze();
    try {
      // The statement does not end by itself: the next leader waits for the same lock, but not for this one.
      await eventually(async () => (await observer.lease()).token, before.token + 1);
      await eventually(() => observer.countBlockedBy(locking), 1);
      await locking.run('rollback');
      await eventually(() => observer.contents(), { name, revisions: revisions + 1 });
    } finally {
      leader.process.resume();
    }
    await eventually(() => Promise.resolve(countWaiting(leader)), waited + 1);
    expect(await observer.contents()).toEqual({ name, revisions: revisions + 1 });
  });

  it('apply nothing after the lock of the leader was lost within a revision', async () => {
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

  it('report a locked lease, and both serve requests', async () => {
    const { leader, other } = await findLeader();
    const { authorization } = leader;
    const before = await observer.contents();
    const printed = leader.process.stdout.length;
    await locking.run('begin; lock table leader_lease');
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
    // Each process has at most one session that waits for the lead and one with a change.
    for (let time = 0; time < 8; time++) {
      expect(await observer.countBlockedBy(locking)).toBeLessThanOrEqual(4);
      for (const each of [leader, other]) {
        const answer = await post(each, { query: QUESTION }, { authorization });
        expect([answer.status, answer.body]).toEqual([200, expect.stringContaining(before.name)]);
      }
      await sleep(250);
    }
    await locking.run('rollback');
    await eventually(() => observer.contents(), { name, revisions: before.revisions + 1 });
    for (const each of [leader, other]) {
      await eventually(async () => (await readServiceStatus(each)).blockedReason, null);
    }
  });

  it('report a wait for a lock in all places, and end on SIGTERM', async () => {
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

    // The process ends although the lock is still held.
    expect((await leader.process.kill('SIGTERM')).code).toBe(0);
    expect(await observer.contents()).toEqual(before);
    // The other process waits for the same lock, and applies the change when it is released.
    await eventually(() => observer.countBlockedBy(locking), 1);
    await locking.run('rollback');
    await eventually(() => observer.contents(), { name, revisions: before.revisions + 1 });
    await eventually(async () => (await readServiceStatus(other, { authorization })).blockedReason, null);
  });
});

describe('a process that has lost the lease without noticing', () => {
  it('applies nothing after another process has the lease', async () => {
    const service = await TestService.start({ ldif: directoryOfVersion(1) });
    const { database } = service.config;
    const observer = await Observer.open(database.url);
    try {
      const before = await observer.lease();
      const [first] = await Promise.all([observer.contents()]);
      await observer.run('update leader_lease set token = token + 1, holder = gen_random_uuid()');
      service.replaceDirectory(directoryOfVersion(2));
      await eventually(() => observer.contents(), { name: 'Anna 2', revisions: first.revisions + 1 });
      // It applied the change with a new lease, not with the lost one.
      const after = await observer.lease();
      expect(after.token).toBe(before.token + 2);
      expect(after.holder).not.toBe(before.holder);
    } finally {
      await observer.close();
      await service.stop();
    }
  });

  it('leaves the lead to a process of a release without the lease', async () => {
    const processes = await ServiceProcesses.start(1, directoryOfVersion(1));
    const [service] = processes.each;
    const observer = await Observer.open(processes.database.url);
    const old = new pg.Client(processes.database.url);
    await old.connect();
    try {
      // That process waits for the advisory lock only.
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
