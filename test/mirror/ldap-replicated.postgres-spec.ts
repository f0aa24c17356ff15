import { DataSource } from 'typeorm';
import { createApp } from '../../src/app.module.js';
import { MirrorFollowing } from '../../src/mirror/following.js';
import { MirrorState, SyncState } from '../../src/mirror/status/mirror-state.js';
import { buildLdif, groupDn, personDn } from '../support/builders/directory.js';
import { expectMirror, parseDump } from '../support/builders/ldap-content.js';
import { readInconsistencies, readMirror, readNames } from '../support/builders/ldap-mirror.js';
import { eventually, isEqual } from '../support/eventually.js';
import { directorySettings } from '../support/servers/ldap.js';
import { ReplicatedSlapd } from '../support/servers/replicated-slapd.js';
import { TestService } from '../support/servers/service.js';
import { TcpBalancer } from '../support/servers/tcp-balancer.js';

/** Large enough to distinguish a complete transfer from a partial one. */
const CROWD = Array.from({ length: 200 }, (_, index) => `crowd-${index}`);
const LDIF = buildLdif(
  ['anna', 'ben', 'cleo', 'dan', 'eva', ...CROWD].map((id) => ({ id })),
  [{ id: 'club', members: ['anna', 'ben'] }],
);

const modify = (id: string, name: string) =>
  `dn: ${personDn(id)}\nchangetype: modify\nreplace: displayName\ndisplayName: ${name}\n`;
const add = (id: string) =>
  `dn: ${personDn(id)}\nchangetype: add\nobjectClass: inetOrgPerson\nuid: ${id}\ncn: ${id}\nsn: ${id}\n`;
const remove = (id: string) => `dn: ${personDn(id)}\nchangetype: delete\n`;
const rename = (id: string, to: string) =>
  `dn: ${personDn(id)}\nchangetype: modrdn\nnewrdn: uid=${to}\ndeleteoldrdn: 1\n`;
const changeMember = (operation: 'add' | 'delete', id: string) =>
  `dn: ${groupDn('club')}\nchangetype: modify\n${operation}: member\nmember: ${personDn(id)}\n`;

function start(slapd: ReplicatedSlapd, url: string): Promise<TestService> {
  const settings = { ...directorySettings(slapd.at(0)), DIRECTORY_URL: url, DIRECTORY_GUARD_PERCENT: '100' };
  return TestService.start({ environment: settings });
}

/** Waits until the mirror equals the content of a server, and its state is current. */
async function expectToEqual({ app }: TestService, slapd: ReplicatedSlapd, index: number): Promise<void> {
  const wanted = expectMirror(parseDump(await slapd.at(index).search({ attributes: ['*', 'entryUUID'] })));
  const dataSource = app.get(DataSource);
  await eventually(async () => isEqual(await readMirror(dataSource), wanted), true);
  await eventually(async () => (await app.get(MirrorState).get()).state, SyncState.IDLE);
  expect(await readInconsistencies(dataSource)).toEqual([]);
}

describe('two providers behind one address', () => {
  let slapd: ReplicatedSlapd;
  let balancer: TcpBalancer;
  let follower: TestService;

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
    follower = await start(slapd, balancer.url);
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
      changeMember('add', `new-${round}`),
      changeMember('delete', 'ben'),
    );
    await slapd.change(
      index,
      rename(`new-${round}`, `kept-${round}`),
      remove(`old-${round}`),
      changeMember('add', 'ben'),
    );
    await slapd.converge();
  }

  it.each([
    ['the same server', 0],
    ['the other server', 1],
  ])('transfer only the changes when the service starts again, on %s', async (_, index) => {
    await changeOn(0, `while-connected-${index}`);
    await changeOn(1, `beside-${index}`);
    await expectToEqual(follower, slapd, 0);
    await follower.app.close();
    await changeOn(0, `while-stopped-${index}`);
    balancer.use(slapd.at(index).port);
    const { people, synchronized } = balancer;
    follower.app = await createApp(follower.config);
    await follower.app.init();
    await follower.app.get(MirrorFollowing).start();
    await expectToEqual(follower, slapd, index);
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
    await expectToEqual(follower, slapd, index);
    const after = [...balancer.given.values()].reduce((sum, each) => sum + each, 0);
    expect(after - before).toBe(1);
  });
});

describe('a consumer that lags behind its provider', () => {
  let slapd: ReplicatedSlapd;
  let balancer: TcpBalancer;
  let follower: TestService;

  beforeAll(async () => {
    slapd = await ReplicatedSlapd.start(
      [{ serverId: 1, isProvider: true }, { isProvider: false }, { isProvider: false }],
      { ldif: LDIF },
    );
    balancer = await TcpBalancer.start(slapd.at(0).port);
    follower = await start(slapd, `${balancer.url} ${slapd.at(2).url}`);
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
    await expectToEqual(follower, slapd, 0);
    await slapd.converge([0, 2]);
    balancer.use(slapd.at(1).port);
    balancer.breakConnections();
    await slapd.change(0, modify('ben', 'Ben Berg'), remove('eva'));
    await slapd.converge([0, 2]);
    await expectToEqual(follower, slapd, 2);
    expect((await readNames(follower))['ben']).toBe('Ben Berg');
  });

  it('does not replace what is known while it shows no difference', async () => {
    balancer.use(slapd.at(0).port);
    slapd.release(1);
    await slapd.converge();
    slapd.hold(1);
    const single = await start(slapd, balancer.url);
    try {
      const readCsns = async () => {
        const text = 'select context_csns as csns from mirror_state';
        const [state] = await single.app.get(DataSource).query<{ csns: string[] }[]>(text);
        return state?.csns ?? [];
      };
      const before = await readCsns();
      // The mirror has no such attribute.
      await slapd.change(
        0,
        `dn: ${personDn('ben')}\nchangetype: modify\nreplace: carLicense\ncarLicense: B\n`,
      );
      await eventually(async () => isEqual(await readCsns(), before), false);
      const known = await readCsns();
      balancer.use(slapd.at(1).port);
      balancer.breakConnections();
      expect((await single.synchronize()).kind).toBe('unchanged');
      expect(await readCsns()).toEqual(known);
    } finally {
      await single.stop();
    }
  });
});
