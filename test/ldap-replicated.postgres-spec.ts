import { isDeepStrictEqual } from 'node:util';
import { DataSource } from 'typeorm';
import type { Environment } from '../src/config/config.js';
import { createApp } from '../src/create-app.js';
import { MirrorService } from '../src/mirror/mirror.service.js';
import { MirrorState, SyncState } from '../src/mirror/mirror-state.js';
import { buildLdif, groupDn, personDn } from './support/directory.js';
import { eventually } from './support/eventually.js';
import { directorySettings } from './support/ldap.js';
import { expectMirror, parseDump } from './support/ldap-content.js';
import { readIds, readInconsistencies, readMirror, readNames } from './support/ldap-mirror.js';
import { ReplicatedSlapd } from './support/replicated-slapd.js';
import { TestService } from './support/service.js';
import { TcpBalancer } from './support/tcp-balancer.js';

/** Enough that a transfer of all of them is told from one of a few. */
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
const join = (id: string) =>
  `dn: ${groupDn('club')}\nchangetype: modify\nadd: member\nmember: ${personDn(id)}\n`;
const leave = (id: string) =>
  `dn: ${groupDn('club')}\nchangetype: modify\ndelete: member\nmember: ${personDn(id)}\n`;

const BEHIND = /^The directory server is behind what is known since \d{4}-\S+Z \(server ID 1\)/;

/** A service behind a balancer, which a test stops and starts. */
class Follower {
  private constructor(
    private readonly service: TestService,
    public app: TestService['app'],
  ) {}

  static async start(slapd: ReplicatedSlapd, url: string, environment: Environment = {}): Promise<Follower> {
    const service = await TestService.start({
      environment: {
        ...directorySettings(slapd.at(0)),
        DIRECTORY_URL: url,
        DIRECTORY_GUARD_PERCENT: '100',
        ...environment,
      },
    });
    return new Follower(service, service.app);
  }

  async pause(): Promise<void> {
    await this.app.close();
  }

  async resume(): Promise<void> {
    this.app = await createApp(this.service.config);
    await this.app.init();
    await this.app.get(MirrorService).start();
  }

  async stop(): Promise<void> {
    await this.app.close();
    await this.service.stop();
  }

  readonly readState = async () => (await this.app.get(MirrorState).get()).state;
  readonly readReason = async () => (await this.app.get(MirrorState).get()).reason;
  readonly readNames = () => readNames(this);
  readonly readIds = () => readIds(this);

  /** Waits until the mirror is what a server holds, and is known to be. */
  async expectToEqual(slapd: ReplicatedSlapd, index: number): Promise<void> {
    const wanted = expectMirror(parseDump(await slapd.at(index).search({ attributes: ['*', 'entryUUID'] })));
    const dataSource = this.app.get(DataSource);
    await eventually(async () => differencesOf(await readMirror(dataSource), wanted), []);
    await eventually(this.readState, SyncState.IDLE);
    expect(await readInconsistencies(dataSource)).toEqual([]);
  }
}

type Contents = Awaited<ReturnType<typeof readMirror>>;

/** What is not the same in both, briefly. */
function differencesOf(mirror: Contents, wanted: Contents): string[] {
  return (['people', 'groups', 'roles'] as const).flatMap((part) =>
    [...new Set([...Object.keys(mirror[part]), ...Object.keys(wanted[part])])]
      .filter((key) => !isDeepStrictEqual(mirror[part][key], wanted[part][key]))
      .map((key) => `${part} ${key}: ${JSON.stringify(mirror[part][key] ?? null).slice(0, 200)}`),
  );
}

describe('two providers behind one address', () => {
  let slapd: ReplicatedSlapd;
  let balancer: TcpBalancer;
  let follower: Follower;

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
    follower = await Follower.start(slapd, balancer.url);
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

  /** A session that goes on with a cookie, on this server. */
  async function reconnectTo(index: number): Promise<void> {
    const { port } = slapd.at(index);
    const before = balancer.given.get(port) ?? 0;
    balancer.use(port);
    balancer.breakConnections();
    await eventually(() => Promise.resolve((balancer.given.get(port) ?? 0) > before), true);
    await follower.expectToEqual(slapd, index);
  }

  it.each([
    ['the same server', 0],
    ['the other server', 1],
  ])('transfer only what has changed when the service starts again, on %s', async (_, index) => {
    await changeOn(0, `while-connected-${index}`);
    await changeOn(1, `beside-${index}`);
    await follower.expectToEqual(slapd, 0);
    await follower.pause();
    await changeOn(0, `while-stopped-${index}`);
    balancer.use(slapd.at(index).port);
    const before = balancer.people;
    await follower.resume();
    await follower.expectToEqual(slapd, index);
    expect(balancer.people - before).toBeLessThan(CROWD.length / 4);
  });

  it.each([
    ['the first', 'the first', 0, 0],
    ['the first', 'the second', 0, 1],
    ['the second', 'the first', 1, 0],
    ['the second', 'the second', 1, 1],
  ])('of which %s is followed: show what is written on %s', async (_, __, followed, written) => {
    await reconnectTo(followed);
    await changeOn(written, `${followed}${written}`);
    await follower.expectToEqual(slapd, followed);
  });

  it.each([0, 1])('are asked over one connection (%i)', async (index) => {
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
  let follower: Follower;

  beforeAll(async () => {
    slapd = await ReplicatedSlapd.start(
      [{ serverId: 1, isProvider: true }, { isProvider: false }, { isProvider: false }],
      { ldif: LDIF },
    );
    balancer = await TcpBalancer.start(slapd.at(0).port);
    follower = await Follower.start(slapd, `${balancer.url} ${slapd.at(2).url}`);
  });

  afterAll(async () => {
    await follower.stop();
    await balancer.stop();
    await slapd.stop();
  });

  it('deletes nothing, is waited for, and is followed once it has caught up', async () => {
    slapd.hold(1);
    slapd.hold(2);
    await slapd.change(0, add('newcomer'), join('newcomer'), modify('anna', 'Anna'), remove('dan'));
    await follower.expectToEqual(slapd, 0);
    const known = await follower.readIds();
    balancer.use(slapd.at(1).port);
    await slapd.at(0).stop();
    await eventually(follower.readState, SyncState.FAILING);
    await eventually(async () => BEHIND.test((await follower.readReason()) ?? ''), true);
    expect(await follower.readIds()).toEqual(known);
    expect((await follower.readNames())['anna']).toBe('Anna');
    await slapd.at(0).start();
    slapd.release(1);
    await slapd.converge([0, 1]);
    await follower.expectToEqual(slapd, 1);
    expect(await follower.readIds()).toEqual(known);
  });

  it('is passed over for the next server that is up to date', async () => {
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
