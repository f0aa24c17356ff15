import { add, join, leave, modify, remove, rename } from '../support/builders/change-records.js';
import { buildLdif } from '../support/builders/directory.js';
import { ReplicatedFollower } from '../support/servers/replicated-follower.js';
import { ReplicatedSlapd } from '../support/servers/replicated-slapd.js';
import { TcpBalancer } from '../support/servers/tcp-balancer.js';

/** Large enough to distinguish a complete transfer from a partial one. */
const CROWD = Array.from({ length: 200 }, (_, index) => `crowd-${index}`);
const LDIF = buildLdif(
  ['anna', 'ben', 'cleo', 'dan', 'eva', ...CROWD].map((id) => ({ id })),
  [{ id: 'club', members: ['anna', 'ben'] }],
);

describe('two providers behind one address', () => {
  let slapd: ReplicatedSlapd;
  let balancer: TcpBalancer;
  let follower: ReplicatedFollower;

  beforeAll(async () => {
    slapd = await ReplicatedSlapd.start(
      [
        { serverId: 1, isProvider: true },
        { serverId: 2, isProvider: true },
      ],
      { ldif: LDIF },
    );
    await slapd.change(1, modify('eva', 'Eva'));
    await slapd.converge();
    balancer = await TcpBalancer.start(slapd.at(0).port, slapd.at(1).port);
    follower = await ReplicatedFollower.start(slapd, balancer.url);
  });

  afterAll(async () => {
    await follower.stop();
    await balancer.stop();
    await slapd.stop();
  });

  /** Changes of each kind that are first written on a server. */
  async function changeOn(index: number, round: string): Promise<void> {
    await slapd.change(
      index,
      add(`new-${round}`),
      add(`old-${round}`),
      modify('anna', `Anna ${round}`),
      join(`new-${round}`),
      leave('ben'),
    );
    await slapd.change(index, rename(`new-${round}`, `kept-${round}`), remove(`old-${round}`), join('ben'));
    await slapd.converge();
  }

  it.each([
    ['the same server', 0],
    ['the other server', 1],
  ])('transfer only the changes when the service starts again, on %s', async (_, index) => {
    await changeOn(0, `while-connected-${index}`);
    await changeOn(1, `beside-${index}`);
    await follower.expectToEqual(slapd, 0);
    await follower.pause();
    await changeOn(0, `while-stopped-${index}`);
    balancer.use(slapd.at(index).port);
    const { people, synchronized } = balancer;
    await follower.resume();
    await follower.expectToEqual(slapd, index);
    expect(balancer.people - people).toBeLessThan(CROWD.length / 4);
    // Without a cookie, a server sends at least the name of each entry.
    expect(balancer.synchronized - synchronized).toBeLessThan(CROWD.length / 2);
  });

  it.each([0, 1])('are polled over one connection (%i)', async (index) => {
    balancer.use(slapd.at(0).port, slapd.at(1).port);
    const before = [...balancer.given.values()].reduce((sum, each) => sum + each, 0);
    balancer.breakConnections();
    await slapd.change(index, modify('cleo', `Cleo ${index}`));
    await slapd.converge();
    await follower.expectToEqual(slapd, index);
    const after = [...balancer.given.values()].reduce((sum, each) => sum + each, 0);
    expect(after - before).toBe(1);
  });
});

describe('a consumer that lags behind its provider', () => {
  let slapd: ReplicatedSlapd;
  let balancer: TcpBalancer;
  let follower: ReplicatedFollower;

  beforeAll(async () => {
    slapd = await ReplicatedSlapd.start(
      [{ serverId: 1, isProvider: true }, { isProvider: false }, { isProvider: false }],
      { ldif: LDIF },
    );
    balancer = await TcpBalancer.start(slapd.at(0).port);
    follower = await ReplicatedFollower.start(slapd, `${balancer.url} ${slapd.at(2).url}`);
  });

  afterAll(async () => {
    await follower.stop();
    await balancer.stop();
    await slapd.stop();
  });

  it('is skipped in favor of the next server that is up to date', async () => {
    slapd.hold(1);
    slapd.release(2);
    await slapd.converge([0, 2]);
    balancer.use(slapd.at(0).port);
    balancer.breakConnections();
    await slapd.change(0, add('latecomer'), modify('anna', 'Anna Berg'));
    await follower.expectToEqual(slapd, 0);
    await slapd.converge([0, 2]);
    balancer.use(slapd.at(1).port);
    balancer.breakConnections();
    await slapd.change(0, modify('ben', 'Ben Berg'), remove('eva'));
    await slapd.converge([0, 2]);
    await follower.expectToEqual(slapd, 2);
    expect((await follower.readNames())['ben']).toBe('Ben Berg');
  });
});
