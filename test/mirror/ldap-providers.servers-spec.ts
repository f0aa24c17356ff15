import { SyncState } from '../../src/mirror/status/mirror-state.js';
import { add, join, leave, modify, remove, rename } from '../support/builders/change-records.js';
import { buildLdif } from '../support/builders/directory.js';
import { eventually } from '../support/eventually.js';
import { repetitions } from '../support/repetitions.js';
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

/** The rows of unchanged users are never replaced. */
async function readKeys(follower: ReplicatedFollower): Promise<unknown[]> {
  const people = await follower.readPeople();
  return CROWD.map((id) => people[id]?.key);
}

describe('three providers that replicate each other', () => {
  let slapd: ReplicatedSlapd;
  let balancer: TcpBalancer;
  let follower: ReplicatedFollower;
  let keys: unknown[];

  beforeAll(async () => {
    slapd = await ReplicatedSlapd.start(
      PLACES.map((place) => ({ serverId: place + 1, isProvider: true })),
      { ldif: LDIF },
    );
    balancer = await TcpBalancer.start(...PLACES.map((place) => slapd.at(place).port));
    follower = await ReplicatedFollower.start(slapd, balancer.url);
    keys = await readKeys(follower);
  });

  afterAll(async () => {
    await follower.stop();
    await balancer.stop();
    await slapd.stop();
  });

  /** Existing connections are closed, and new ones go to these servers. */
  function moveTo(...places: number[]): void {
    balancer.use(...places.map((place) => slapd.at(place).port));
    balancer.breakConnections();
  }

  async function expectToEqual(place: number): Promise<void> {
    await follower.expectToEqual(slapd, place);
    expect(await readKeys(follower)).toEqual(keys);
  }

  it('are mirrored exactly while all are written and connections move between them', async () => {
    for (let round = 0; round < ROUNDS; round++) {
      moveTo((round + 1) % 3);
      await Promise.all(PLACES.map((place) => changeOn(slapd, place, `moving-${round}`)));
      moveTo(round % 3);
      await changeOn(slapd, (round + 2) % 3, `moved-${round}`);
    }
    moveTo(...PLACES);
    await slapd.converge();
    await expectToEqual(0);
    expect(Object.keys(await follower.readNames()).filter((id) => id.startsWith('kept-'))).toHaveLength(
      4 * ROUNDS,
    );
    // No more deletions than in the directory, where users leave their group before they are deleted.
    const { people, memberships } = await follower.countLosses();
    expect(people).toBeLessThanOrEqual(4 * ROUNDS);
    expect(memberships).toBeLessThanOrEqual(8 * ROUNDS);
  });

  it('are followed when the current one is killed during writes', async () => {
    moveTo(0);
    await expectToEqual(0);
    balancer.use(...PLACES.map((place) => slapd.at(place).port));
    const writing = Promise.allSettled(
      Array.from({ length: 4 }, (_, round) => changeOn(slapd, 0, `killed-${round}`)),
    );
    await eventually(
      async () => Object.keys(await follower.readNames()).some((id) => id.includes('killed')),
      true,
    );
    await slapd.at(0).stop('SIGKILL');
    await writing;
    await changeOn(slapd, 1, 'meanwhile');
    // Only changes of the dead server are delayed; all others are applied at once.
    await eventually(async () => {
      const { state, reason } = await follower.readStatus();
      const isOn = (await follower.readNames())['kept-meanwhile-1'] !== undefined;
      return isOn || (state === SyncState.FAILING && reason?.includes('(server ID 1)') === true);
    }, true);
    await slapd.at(0).start();
    await slapd.change(0, modify('pivot-0', 'After'));
    await slapd.converge();
    await expectToEqual(1);
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
