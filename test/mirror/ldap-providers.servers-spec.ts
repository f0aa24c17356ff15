import { MirrorState, SyncState } from '../../src/mirror/status/mirror-state.js';
import { add, join, leave, modify, remove, rename } from '../support/builders/change-records.js';
import { buildLdif } from '../support/builders/directory.js';
import { eventually } from '../support/eventually.js';
import { repetitions } from '../support/repetitions.js';
import { LdapHaproxy } from '../support/servers/ldap-haproxy.js';
import { ReplicatedFollower } from '../support/servers/replicated-follower.js';
import { ReplicatedSlapd } from '../support/servers/replicated-slapd.js';
import { TcpBalancer } from '../support/servers/tcp-balancer.js';

const PLACES = [0, 1, 2];
const ROUNDS = repetitions({ usually: 3, long: 6 });
/** Entries that never change: they must never be deleted. */
const CROWD = Array.from({ length: 60 }, (_, index) => `crowd-${index}`);
const LDIF = buildLdif(
  [...PLACES.map((place) => ({ id: `pivot-${place}` })), ...CROWD.map((id) => ({ id }))],
  PLACES.map((place) => ({ id: `club-${place}`, members: CROWD })),
);

/**
 * Changes of each kind. Every server has its own users and group, because the servers themselves lose concurrent changes of one
 * entry.
 */
async function changeOn(slapd: ReplicatedSlapd, place: number, round: string): Promise<void> {
  const [group, id] = [`club-${place}`, `${round}-${place}`];
  await slapd.change(
    place,
    add(`new-${id}`),
    add(`gone-${id}`),
    modify(`pivot-${place}`, `Pivot ${id}`),
    join(`new-${id}`, group),
    join(`gone-${id}`, group),
  );
  await slapd.change(
    place,
    rename(`new-${id}`, `kept-${id}`),
    leave(`gone-${id}`, group),
    leave(`new-${id}`, group),
    join(`kept-${id}`, group),
    remove(`gone-${id}`),
  );
}

const nameOf = (follower: ReplicatedFollower, id: string) => async () => (await follower.readNames())[id];

/** The rows of unchanged users are never replaced. */
async function readKeys(follower: ReplicatedFollower): Promise<unknown[]> {
  const people = await follower.readPeople();
  return CROWD.map((id) => people[id]?.key);
}

describe('three providers that replicate each other', () => {
  let slapd: ReplicatedSlapd;
  let balancer: TcpBalancer;
  /** In front of the third server only: the second address of the service with a balancer. */
  let third: TcpBalancer;
  let haproxy: LdapHaproxy;
  /** One service with a balancer and a second address, and one with haproxy. */
  let followers: [ReplicatedFollower, ReplicatedFollower];
  let keys: unknown[][];

  beforeAll(async () => {
    slapd = await ReplicatedSlapd.start(
      PLACES.map((place) => ({ serverId: place + 1, isProvider: true })),
      { ldif: LDIF },
    );
    const ports = PLACES.map((place) => slapd.at(place).port);
    balancer = await TcpBalancer.start(...ports);
    third = await TcpBalancer.start(slapd.at(2).port);
    haproxy = await LdapHaproxy.start(...ports);
    followers = await Promise.all([
      ReplicatedFollower.start(slapd, `${balancer.url} ${third.url}`),
      ReplicatedFollower.start(slapd, haproxy.url),
    ]);
    keys = await Promise.all(followers.map(readKeys));
  });

  afterAll(async () => {
    await Promise.all(followers.map((follower) => follower.stop()));
    await Promise.all([balancer.stop(), third.stop(), haproxy.stop()]);
    await slapd.stop();
  });

  /** New connections of both services go to these servers. */
  async function allowOnly(...places: number[]): Promise<void> {
    balancer.use(...places.map((place) => slapd.at(place).port));
    await haproxy.use(...places);
  }

  /** Existing connections are closed. */
  async function moveTo(...places: number[]): Promise<void> {
    await allowOnly(...places);
    balancer.breakConnections();
    third.breakConnections();
  }

  async function expectAllToEqual(place: number): Promise<void> {
    await Promise.all(followers.map((follower) => follower.expectToEqual(slapd, place)));
    expect(await Promise.all(followers.map(readKeys))).toEqual(keys);
  }

  it('are mirrored exactly while all are written and connections move between them', async () => {
    for (let round = 0; round < ROUNDS; round++) {
      await moveTo((round + 1) % 3);
      await Promise.all(PLACES.map((place) => changeOn(slapd, place, `moving-${round}`)));
      await moveTo(round % 3);
      await changeOn(slapd, (round + 2) % 3, `moved-${round}`);
    }
    await moveTo(...PLACES);
    await slapd.converge();
    await expectAllToEqual(0);
    for (const follower of followers) {
      expect(Object.keys(await follower.readNames()).filter((id) => id.startsWith('kept-'))).toHaveLength(
        4 * ROUNDS,
      );
      // No more deletions than in the directory, where users leave their group before they are deleted.
      const { people, memberships } = await follower.countLosses();
      expect(people).toBeLessThanOrEqual(4 * ROUNDS);
      expect(memberships).toBeLessThanOrEqual(8 * ROUNDS);
    }
  });

  it('are followed when the current one is killed during writes', async () => {
    await moveTo(0);
    await expectAllToEqual(0);
    await allowOnly(...PLACES);
    const writing = Promise.allSettled(
      Array.from({ length: 4 }, (_, round) => changeOn(slapd, 0, `killed-${round}`)),
    );
    await eventually(
      async () => Object.keys(await followers[0].readNames()).some((id) => id.includes('killed')),
      true,
    );
    await slapd.at(0).stop('SIGKILL');
    await writing;
    await changeOn(slapd, 1, 'meanwhile');
    // Only changes of the dead server are delayed; all others are applied at once.
    for (const follower of followers) {
      await eventually(async () => {
        const { state, reason } = await follower.readStatus();
        const isOn = (await follower.readNames())['kept-meanwhile-1'] !== undefined;
        return isOn || (state === SyncState.FAILING && reason?.includes('(server ID 1)') === true);
      }, true);
    }
    await slapd.at(0).start();
    await slapd.change(0, modify('pivot-0', 'After'));
    await slapd.converge();
    await expectAllToEqual(1);
  });

  it('are followed when the current one hangs', async () => {
    // Closed at first: otherwise the service may follow the third server by its second address.
    third.use();
    await moveTo(0);
    await expectAllToEqual(0);
    const failing = jest.spyOn(followers[0].app.get(MirrorState), 'markFailing');
    slapd.at(0).freeze();
    try {
      await haproxy.use(...PLACES);
      // New connections of the other service go there, too: only its second address leads to another server.
      await slapd.change(1, modify('pivot-1', 'While it stands still'));
      await eventually(
        () =>
          Promise.resolve(failing.mock.calls.some(([reason]) => reason.includes('did not answer within'))),
        true,
      );
      third.use(slapd.at(2).port);
      await Promise.all(
        followers.map((follower) => eventually(nameOf(follower, 'pivot-1'), 'While it stands still')),
      );
      for (const follower of followers) await eventually(follower.readState, SyncState.IDLE);
      expect(await Promise.all(followers.map(readKeys))).toEqual(keys);
    } finally {
      slapd.at(0).unfreeze();
      third.use(slapd.at(2).port);
      failing.mockRestore();
    }
    await slapd.converge();
    await moveTo(...PLACES);
    await expectAllToEqual(0);
  });

  it('are followed while one of them restarts repeatedly', async () => {
    await moveTo(0);
    await expectAllToEqual(0);
    for (let round = 0; round < ROUNDS; round++) {
      await slapd.at(0).restart();
      await changeOn(slapd, round % 3, `restarting-${round}`);
    }
    await slapd.converge();
    await expectAllToEqual(0);
  });
});

describe('a provider and a consumer behind one address, with clocks that are days apart', () => {
  let slapd: ReplicatedSlapd;
  let balancer: TcpBalancer;
  let follower: ReplicatedFollower;

  beforeAll(async () => {
    slapd = await ReplicatedSlapd.start(
      [
        { serverId: 1, isProvider: true, clock: '+1d' },
        { serverId: 2, isProvider: true, clock: '-1d' },
        { isProvider: false },
      ],
      { ldif: LDIF },
    );
    balancer = await TcpBalancer.start(...PLACES.map((place) => slapd.at(place).port));
    follower = await ReplicatedFollower.start(slapd, balancer.url);
  });

  afterAll(async () => {
    await follower.stop();
    await balancer.stop();
    await slapd.stop();
  });

  it('are mirrored exactly while connections move between them', async () => {
    const keys = await readKeys(follower);
    for (let round = 0; round < ROUNDS; round++) {
      balancer.use(slapd.at(round % 3).port);
      balancer.breakConnections();
      await Promise.all([0, 1].map((place) => changeOn(slapd, place, `apart-${round}`)));
    }
    await slapd.converge();
    await follower.expectToEqual(slapd, 2);
    expect(await readKeys(follower)).toEqual(keys);
  });
});
