import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { DataSource } from 'typeorm';
import { MirrorFollowing } from '../../src/mirror/following.js';
import { MirrorState, SyncState } from '../../src/mirror/status/mirror-state.js';
import { Synchronizer } from '../../src/mirror/synchronizer.js';
import { changesNothing } from '../../src/mirror/revision/write-revision.js';
import { PICTURE, buildLdif, personDn } from '../support/builders/directory.js';
import { eventually } from '../support/eventually.js';
import { forSuite } from '../support/for-suite.js';
import { directorySettings, FollowedDirectory } from '../support/servers/ldap.js';
import { readIds, readNames } from '../support/builders/ldap-mirror.js';
import { readRevision } from '../support/clients/mirror.js';
import { TestProxy } from '../support/servers/proxy.js';
import { openApp, TestService } from '../support/servers/service.js';
import { MIRROR_DN, MIRROR_PASSWORD, startSlapd, type TestSlapd } from '../support/servers/slapd.mjs';

/** Additional bytes of every entry. */
const WEIGHT = 40_000;
const PEOPLE = Array.from({ length: 150 }, (_, index) => `person-${index + 100}`);

/** A picture of one pixel, followed by as many bytes, because only the head is parsed. */
function picture(weight: number): Buffer {
  return Buffer.concat([PICTURE, randomBytes(weight)]);
}

const LDIF = buildLdif(PEOPLE.map((id) => ({ id, photo: picture(WEIGHT) })));
const WHOLE = PEOPLE.length * WEIGHT;

const rename = (id: string, name: string) =>
  `dn: ${personDn(id)}\nchangetype: modify\nreplace: displayName\ndisplayName: ${name}\n`;
const remove = (id: string) => `dn: ${personDn(id)}\nchangetype: delete\n`;

async function change(slapd: TestSlapd, ...records: string[]): Promise<void> {
  const { code, stderr } = await slapd.modify(records.join('\n'));
  if (code !== 0) throw new Error(`ldapmodify: ${stderr}`);
}

describe('a server in trouble', () => {
  let slapd: TestSlapd;
  let proxy: TestProxy;
  let service: TestService;
  /** The current process of the service. */
  let app: TestService['app'];

  beforeAll(async () => {
    slapd = await startSlapd({ ldif: LDIF });
    proxy = await TestProxy.start({ host: '127.0.0.1', port: slapd.port });
  });

  afterAll(async () => {
    await service.stop();
    await proxy.stop();
    await slapd.remove();
  });

  const readState = async () => {
    const { state, reason } = await app.get(MirrorState).get();
    return [state, reason];
  };
  const HEALTHY = [SyncState.IDLE, null];

  const namesOf =
    (...ids: string[]) =>
    async () => {
      const names = await readNames({ app });
      return ids.map((id) => names[id] ?? null);
    };

  /** Whether a full synchronization would find no difference. */
  async function isCaughtUp(): Promise<boolean> {
    const outcome = await service.synchronize({ dryRun: true });
    return outcome.kind === 'planned' && changesNothing(outcome.counts);
  }

  async function startAgain(): Promise<void> {
    app = await openApp(service.config);
    service.app = app;
    await app.init();
    await app.get(MirrorFollowing).start();
  }

  /** A polled server reports the second of a change: until it is over, changes in it are read again. */
  const untilLittleIsRead = () =>
    eventually(async () => {
      const before = proxy.received;
      await sleep(1200);
      return proxy.received - before < WHOLE / 10;
    }, true);

  it('is waited for if it is not available at the start', async () => {
    proxy.cut();
    service = await TestService.start({
      environment: {
        ...directorySettings(slapd),
        DIRECTORY_URL: proxy.url,
        DIRECTORY_GUARD_PERCENT: '100',
      },
    });
    ({ app } = service);
    expect((await readState())[0]).toBe(SyncState.FAILING);
    expect(await readIds({ app })).toEqual([]);
  });

  it('shows no partial state when the connection breaks during a full reading', async () => {
    proxy.restore();
    while (proxy.received < WHOLE / 2) await sleep(1);
    proxy.cut();
    await eventually(async () => (await readState())[0], SyncState.FAILING);
    expect(await readIds({ app })).toEqual([]);
    proxy.restore();
    await eventually(async () => (await readIds({ app })).length, PEOPLE.length);
    expect(await readState()).toEqual(HEALTHY);
  });

  it('that is stopped is waited for, and is asked for changes only', async () => {
    await untilLittleIsRead();
    const before = proxy.received;
    proxy.cut();
    await change(slapd, rename('person-100', 'Anna'), remove('person-101'));
    // The session log is lost with the restart, and all existing entries are listed by name.
    await slapd.restart();
    proxy.restore();
    await eventually(namesOf('person-100', 'person-101'), ['Anna', null]);
    await slapd.stop();
    await eventually(async () => (await readState())[0], SyncState.FAILING);
    await slapd.start();
    await eventually(readState, HEALTHY);
    expect(proxy.received - before).toBeLessThan(WHOLE / 10);
  });

  it('that rejects the account is reported, and is retried until it accepts', async () => {
    const setPassword = (password: string) =>
      change(
        slapd,
        `dn: ${MIRROR_DN}\nchangetype: modify\nreplace: userPassword\nuserPassword: ${password}\n`,
      );
    await setPassword('another');
    proxy.cut();
    proxy.restore();
    const reason = `The directory server rejects the bind of ${MIRROR_DN}: invalidCredentials (49)`;
    await eventually(readState, [SyncState.FAILING, reason]);
    await setPassword(MIRROR_PASSWORD);
    await eventually(readState, HEALTHY);
  });

  it('that sends only some entries deletes none', async () => {
    const before = await readNames({ app });
    await slapd.restart({ limits: `dn.exact="${MIRROR_DN}" size=100` });
    await expect(service.synchronize()).rejects.toThrow('sizeLimitExceeded');
    expect(await readNames({ app })).toEqual(before);
    await slapd.restart({ limits: `dn.exact="${MIRROR_DN}" size=unlimited` });
    await eventually(readState, HEALTHY);
  });

  it.each<[string, (stranger: TestSlapd) => void, SyncState]>([
    [
      'that sends invalid bytes',
      () => proxy.respondWith('HTTP/1.1 400 Bad Request\r\n\r\n'),
      SyncState.FAILING,
    ],
    ['that hangs', () => slapd.freeze(), SyncState.FAILING],
    ['behind a network that fails silently', () => proxy.freeze(), SyncState.FAILING],
    ['that was replaced by an empty one', (stranger) => proxy.use(stranger.port), SyncState.BLOCKED],
  ])('%s changes nothing, and no change is lost', async (what, fail, state) => {
    const stranger = await startSlapd({});
    const before = await readNames({ app });
    fail(stranger);
    await eventually(async () => (await readState())[0], state);
    expect(await readNames({ app })).toEqual(before);
    slapd.unfreeze();
    proxy.use(slapd.port);
    await change(slapd, rename('person-102', `After one ${what}`));
    await eventually(namesOf('person-102'), [`After one ${what}`]);
    await eventually(readState, HEALTHY);
    expect(Object.keys(await readNames({ app }))).toEqual(Object.keys(before));
    await stranger.remove();
  });

  it('is caught up with in one revision after a long absence', async () => {
    const before = await readRevision({ app });
    await app.close();
    for (const id of PEOPLE.slice(-45)) {
      const photo = picture(1_200_000).toString('base64');
      await change(
        slapd,
        `dn: ${personDn(id)}\nchangetype: modify\nreplace: jpegPhoto\njpegPhoto:: ${photo}\n`,
      );
    }
    await startAgain();
    await eventually(isCaughtUp, true);
    expect((await readRevision({ app })) - before).toBe(1);
  });
});

describe('access rules that hide an attribute of all users', () => {
  const acl = [
    `access to attrs=mail by set="user/description & [all]" read by * none`,
    `access to * by dn.exact="${MIRROR_DN}" read by * auth`,
  ];
  const directory = forSuite(() =>
    FollowedDirectory.start(
      { ldif: buildLdif(PEOPLE.slice(0, 20).map((id) => ({ id, email: `${id}@example.org` }))), acl },
      { DIRECTORY_SCAN_SECONDS: '1' },
    ),
  );

  it('block the next reading of all entries, and stay blocked although no stamp differs', async () => {
    const { app } = directory.service;
    const count = (end: 'applied' | 'held') => app.get(Synchronizer).ended.get(end) ?? 0;
    const describe = (operation: string) =>
      directory.change(`dn: ${MIRROR_DN}\nchangetype: modify\n${operation}: description\ndescription: all\n`);
    const readAgain = () => app.get(DataSource).query('update mirror_state set read_whole_at = null');
    await describe('add');
    await readAgain();
    await eventually(() => Promise.resolve(count('applied') >= 2), true);
    await describe('delete');
    await readAgain();
    await eventually(() => Promise.resolve(count('held') >= 3), true);
    expect((await app.get(MirrorState).get()).state).toBe(SyncState.BLOCKED);
  });
});
