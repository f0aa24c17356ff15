/** @isolated The suite replaces setTimeout. */
import { DataSource } from 'typeorm';
import { EntryComparer } from '../../src/mirror/reconcile/entry-comparer.js';
import { MirrorState } from '../../src/mirror/status/mirror-state.js';
import { type Run, runChannel } from '../../src/mirror/sync/runs.js';
import { SLICE_BYTES } from '../../src/mirror/reconcile/scan.js';
import { weigh } from '../../src/sources/delta.js';
import { runCommand } from '../support/clients/command.js';
import { BASE_DN, buildLdif, personDn, type TestPerson } from '../support/builders/directory.js';
import { eventually } from '../support/eventually.js';
import { directorySettings, FollowedDirectory } from '../support/servers/ldap.js';
import { countDeletions, readMembers, readNames } from '../support/builders/ldap-mirror.js';
import { readSamples } from '../support/clients/metrics.js';
import { readRevision, readStatus } from '../support/clients/mirror.js';
import { findFreePort } from '../support/servers/postgres.mjs';
import { TestProxy } from '../support/servers/proxy.js';
import { TestService } from '../support/servers/service.js';
import { type SlapdOptions, startSlapd } from '../support/servers/slapd.mjs';
import { createDatabase } from '../support/servers/store.js';

/** Two pictures that differ. */
const GIF = Buffer.from('R0lGODlhAQABAAAAACH5BAEKAAEALAAAAAABAAEAAAICTAEAOw==', 'base64');
const OTHER_GIF = Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64');

/** A reconciliation runs continuously, or never during a test. */
const OFTEN = '1';
const NEVER = '86400';

const numbered = (count: number, more: Partial<TestPerson> = {}): TestPerson[] =>
  Array.from({ length: count }, (_, index) => ({ id: `p${index + 1000}`, ...more }));

const rename = (id: string, name: string) =>
  `dn: ${personDn(id)}\nchangetype: modify\nreplace: displayName\ndisplayName: ${name}\n`;

function follow(
  seconds: { identities: string; contents: string },
  slapd: SlapdOptions,
): Promise<FollowedDirectory> {
  return FollowedDirectory.start(slapd, intervals(seconds));
}

function intervals({ identities, contents }: { identities: string; contents: string }) {
  return { DIRECTORY_RECONCILE_SECONDS: identities, DIRECTORY_RECONCILE_CONTENTS_SECONDS: contents };
}

const query = <Row>({ app }: Pick<TestService, 'app'>, sql: string): Promise<Row[]> =>
  app.get(DataSource).query(sql);

/** Waits for a reconciliation that starts later than this. */
async function untilReconciled(service: TestService, kind: 'identities' | 'contents'): Promise<void> {
  const readRuns = async () => {
    const rows = await query<{ runs: number }>(
      service,
      `select runs from reconciliations where kind = '${kind}'`,
    );
    return rows[0]?.runs ?? 0;
  };
  const runs = await readRuns();
  await eventually(async () => (await readRuns()) >= runs + 2, true);
}

/** Changes the database of a server without a notification: entryCSN and times stay the same. */
async function edit({ slapd }: FollowedDirectory, change: (dump: string) => string): Promise<void> {
  const dump = await slapd.dump();
  await slapd.stop();
  await slapd.restore(change(dump));
  await slapd.start();
}

/** Number of full readings during an action. */
async function countWholeReadings(work: () => Promise<void>): Promise<number> {
  let count = 0;
  const listener = {
    start: ({ scope }: Run) => {
      if (scope === 'all') count++;
    },
    end: () => undefined,
    asyncStart: () => undefined,
    asyncEnd: () => undefined,
    error: () => undefined,
  };
  runChannel.subscribe(listener);
  try {
    await work();
  } finally {
    runChannel.unsubscribe(listener);
  }
  return count;
}

/** Milliseconds after which the service gives up on a silent LDAP server. */
const SILENCE = 45_000;

describe('a reconciliation of the contents of a server with the mirror', () => {
  let directory: FollowedDirectory;

  afterEach(() => directory.stop());

  it('finds the bytes of every photo that differ under the same entryCSN', async () => {
    await start({ identities: NEVER, contents: OFTEN }, { ldif: buildLdif(numbered(60, { photo: GIF })) });
    await untilReconciled(directory.service, 'contents');
    await edit(directory, (dump) => dump.replaceAll(GIF.toString('base64'), OTHER_GIF.toString('base64')));
    await untilReconciled(directory.service, 'contents');
    const photos = await query(
      directory.service,
      'select count(*)::integer as count, photo from users group by photo',
    );
    const [other] = await query<{ sha256: Buffer }>(
      directory.service,
      `select sha256(decode('${OTHER_GIF.toString('hex')}', 'hex'))`,
    );
    expect(photos).toEqual([{ count: 60, photo: other?.sha256 }]);
  });

  it('restores a photo that was in quarantine', async () => {
    const broken = Buffer.from('no picture');
    await start({ identities: NEVER, contents: OFTEN }, { ldif: buildLdif([{ id: 'anna', photo: broken }]) });
    const { service } = directory;
    expect(await query(service, 'select attribute from quarantined_entries')).toEqual([
      { attribute: 'jpegPhoto' },
    ]);
    await edit(directory, (dump) => dump.replace(/jpegPhoto:.*/, `jpegPhoto:: ${GIF.toString('base64')}`));
    await eventually(() => query(service, 'select id from users where photo is not null'), [{ id: 'anna' }]);
    expect(await query(service, 'select attribute from quarantined_entries')).toEqual([]);
  });

  it('restores two users with the same id when one of them has lost it, and then the other', async () => {
    const anna = { id: 'anna', uuid: '00000000-0000-4000-8000-000000000001' };
    const other = `\ndn: cn=other,ou=people,${BASE_DN}\nobjectClass: inetOrgPerson\ncn: Other\nsn: Other\nuid: anna\n`;
    await start({ identities: NEVER, contents: OFTEN }, { ldif: buildLdif([anna, { id: 'ben' }]) + other });
    const { service } = directory;
    expect(await readNames(service)).toEqual({ ben: 'ben' });
    await edit(directory, (dump) => dump.replace(/(dn: cn=other[^]*?)uid: anna\n/, '$1'));
    await eventually(() => readNames(service), { anna: 'anna', ben: 'ben' });
    await edit(directory, (dump) => dump.replace(/(dn: cn=other[^\n]*\n)/, '$1uid: other\n'));
    await eventually(() => readNames(service), { anna: 'anna', ben: 'ben', other: 'Other' });
    expect(await query(service, 'select reason from quarantined_entries')).toEqual([]);
  });

  it('does not cause a full reading if many entries are in quarantine', async () => {
    const same = Array.from(
      { length: 1002 },
      (_, index) =>
        `dn: cn=same ${index},ou=people,${BASE_DN}\nobjectClass: inetOrgPerson\ncn: Same\nsn: Same\nuid: same${index >> 1}\n`,
    );
    await start(
      { identities: OFTEN, contents: OFTEN },
      { ldif: `${buildLdif([{ id: 'anna' }])}\n${same.join('\n')}` },
    );
    const { service } = directory;
    expect(await query(service, 'select count(*)::integer as count from quarantined_entries')).toEqual([
      { count: 1002 },
    ]);
    const readings = await countWholeReadings(async () => {
      await untilReconciled(service, 'contents');
      await untilReconciled(service, 'identities');
    });
    expect(readings).toBe(0);
    expect(await readNames(service)).toEqual({ anna: 'anna' });
  });

  it('repairs more than 1,000 differences by one full reading, and reports their number', async () => {
    const people = numbered(2000, { email: 'old@example.org' });
    await start({ identities: NEVER, contents: OFTEN }, { ldif: buildLdif(people) });
    const { service, slapd } = directory;
    await untilReconciled(service, 'contents');
    const revision = await readRevision(service);
    await edit(directory, (dump) => dump.replaceAll('mail: old@', 'mail: new@'));
    await eventually(
      () => query(service, `select count(*)::integer as count from users where email = 'new@example.org'`),
      [{ count: 2000 }],
    );
    expect(await readRevision(service)).toBe(revision + 1);
    await eventually(() => readHealed(service), 2000);
    expect(await readStatus(service)).toMatchObject({ state: 'IDLE', blockedReason: null });
    const { database } = service.config;
    const checked = await runCommand(['check'], {
      ...directorySettings(slapd),
      ...intervals({ identities: NEVER, contents: NEVER }),
      PORT: String(await findFreePort()),
      DATABASE_URL: database.url,
    });
    expect(checked.stdout).toMatch(/reconciliation: identities of 2000 entries compared at \S+Z/);
  });

  it('yields to other work of the process after every few entries', async () => {
    const groups = Array.from({ length: 60 }, (_, index) => ({
      id: `g${index}`,
      members: numbered(100).map(({ id }) => id),
    }));
    await start({ identities: NEVER, contents: OFTEN }, { ldif: buildLdif(numbered(400), groups) });
    let inOnePiece = 0;
    let most = 0;
    let heaviest = 0;
    const compare = Object.getOwnPropertyDescriptor(EntryComparer.prototype, 'isSame')
      ?.value as EntryComparer['isSame'];
    const spy = jest.spyOn(EntryComparer.prototype, 'isSame').mockImplementation(function (
      this: EntryComparer,
      known,
      row,
    ) {
      const weight = weigh(known.entry);
      inOnePiece += weight;
      most = Math.max(most, inOnePiece);
      heaviest = Math.max(heaviest, weight);
      return compare.call(this, known, row);
    });
    let isOver = false;
    const turn = () => {
      inOnePiece = 0;
      if (!isOver) setImmediate(turn);
    };
    turn();
    try {
      await untilReconciled(directory.service, 'contents');
    } finally {
      isOver = true;
      spy.mockRestore();
    }
    expect(heaviest).toBeGreaterThan(100 * 200);
    expect(most).toBeLessThan(SLICE_BYTES + heaviest);
  });

  async function start(
    seconds: { identities: string; contents: string },
    slapd: SlapdOptions,
  ): Promise<void> {
    directory = await follow(seconds, slapd);
  }

  async function readHealed(service: TestService): Promise<number> {
    const samples = readSamples(await (await fetch(`${service.url}/metrics`)).text());
    return samples
      .filter(({ name }) => name === 'directory_mirror_healed_entries_total')
      .reduce((sum, { value }) => sum + value, 0);
  }
});

describe('a server with an impossible state', () => {
  const PEOPLE = ['anna', 'ben', 'cleo', 'dan'].map((id) => ({ id, email: `${id}@example.org` }));
  const LDIF = buildLdif(PEOPLE, [{ id: 'club', members: ['anna', 'ben'] }]);
  const readMails = (service: Pick<TestService, 'app'>) =>
    query<{ email: string }>(service, 'select email from users order by id').then((rows) =>
      rows.map(({ email }) => email),
    );
  const EDITED = ['berta@example.org', 'ben@example.org', 'cleo@example.org', 'dan@example.org'];
  const editMail = (dump: string) => dump.replace('mail: anna@', 'mail: berta@');
  it('is compared immediately after its contextCSN went back and forward again', async () => {
    const directory = await follow({ identities: NEVER, contents: NEVER }, { ldif: LDIF });
    try {
      const { service } = directory;
      await putBack(directory);
      await directory.change(rename('ben', 'Ben'));
      await eventually(() => readMails(service), EDITED);
      await eventually(async () => (await readNames(service))['ben'], 'Ben');
      expect((await countDeletions(service)).people).toBe(0);
    } finally {
      await directory.stop();
    }
  });

  it('is compared by the next process if the one that noticed the older state has ended', async () => {
    const database = await createDatabase();
    const directory = await FollowedDirectory.start(
      { ldif: LDIF },
      { ...intervals({ identities: NEVER, contents: NEVER }), DATABASE_URL: database.url },
    );
    const { slapd } = directory;
    try {
      await putBack(directory);
      await directory.service.stop();
      await directory.change(rename('ben', 'Ben'));
      const next = await TestService.start({
        environment: {
          ...directorySettings(slapd),
          ...intervals({ identities: NEVER, contents: NEVER }),
          DATABASE_URL: database.url,
        },
      });
      try {
        await eventually(() => readMails(next), EDITED);
      } finally {
        await next.stop();
      }
    } finally {
      await slapd.remove();
      await database.drop();
    }
  });

  it('is compared immediately after its server IDs have changed', async () => {
    const directory = await follow({ identities: NEVER, contents: NEVER }, { ldif: LDIF });
    try {
      const { service, slapd } = directory;
      // The service sees no change until the server has used its new ID.
      const { port } = slapd;
      const dump = await slapd.dump();
      await slapd.stop();
      await slapd.restore(editMail(dump));
      await slapd.restart({ port: undefined, serverId: 7 });
      await directory.change(rename('ben', 'Ben'));
      await slapd.restart({ port });
      await eventually(() => readMails(service), EDITED);
      await eventually(async () => (await readNames(service))['ben'], 'Ben');
    } finally {
      await directory.stop();
    }
  });

  it('loses no user if it lists entries that it does not find by entryUUID', async () => {
    const directory = await follow({ identities: OFTEN, contents: OFTEN }, { ldif: LDIF, unindexed: true });
    try {
      const { service, slapd } = directory;
      await untilReconciled(service, 'contents');
      const uuid = await readUuid(service, 'anna');
      const dump = await slapd.dump();
      await slapd.stop();
      await slapd.restore(editMail(dump));
      // As after adding the index to the configuration without slapindex.
      await slapd.restart({ unindexed: false });
      expect(await slapd.search({ filter: `(entryUUID=${uuid})`, attributes: ['uid'] })).toBe('');
      await eventually(() => readMails(service), EDITED);
      await untilReconciled(service, 'contents');
      expect(await countDeletions(service)).toEqual({ people: 0, memberships: 0 });
      expect(await readMembers(service, 'club')).toEqual(['anna MEMBER', 'ben MEMBER']);
    } finally {
      await directory.stop();
    }
  });

  /** Restores an older backup with one more silently changed value. */
  async function putBack(directory: FollowedDirectory): Promise<void> {
    const { service, slapd } = directory;
    const backup = await slapd.dump();
    await directory.change(rename('ben', 'Benjamin'));
    await eventually(async () => (await readNames(service))['ben'], 'Benjamin');
    await slapd.stop();
    await slapd.restore(editMail(backup));
    await slapd.start();
    await untilSeenBehind(service);
  }

  async function untilSeenBehind(service: TestService): Promise<void> {
    const readReason = async () => (await service.app.get(MirrorState).get()).reason ?? '';
    await eventually(async () => (await readReason()).includes('is behind what is known'), true);
  }

  async function readUuid(service: TestService, id: string): Promise<string> {
    const [row] = await query<{ uuid: string }>(
      service,
      `select entry_uuid as uuid from users where id = '${id}'`,
    );
    return row?.uuid ?? '';
  }
});

describe('an interrupted reconciliation', () => {
  const PEOPLE = numbered(2000, { email: 'old@example.org' });
  /** Three users are deleted without a notification. */
  const SILENT = ['p1000', 'p1001', 'p1002']
    .map((id) => `dn: ${personDn(id)}\nchangetype: delete\n`)
    .join('\n');
  const countPeople = async (service: Pick<TestService, 'app'>) =>
    (await query<{ count: number }>(service, 'select count(*)::integer as count from users'))[0]?.count;

  async function startSlowly() {
    const slapd = await startSlapd({ ldif: buildLdif(PEOPLE) });
    const proxy = await TestProxy.start({ host: '127.0.0.1', port: slapd.port });
    const database = await createDatabase();
    const environment = {
      ...directorySettings(slapd),
      ...intervals({ identities: OFTEN, contents: OFTEN }),
      DIRECTORY_URL: `ldap://127.0.0.1:${proxy.port}`,
      DATABASE_URL: database.url,
    };
    const service = await TestService.start({ environment, compared: false });
    await untilReconciled(service, 'contents');
    // Each part of a response is delayed, and the reconciliation of 2,000 entries has many.
    proxy.slow(50);
    await untilUnderWay(proxy);
    await slapd.changeSilently(SILENT);
    await untilUnderWay(proxy);
    return { slapd, proxy, database, environment, service };
  }

  /** Some of the entries have been sent: all of them take more than half a megabyte. */
  async function untilUnderWay(proxy: TestProxy): Promise<void> {
    const { received } = proxy;
    await eventually(() => Promise.resolve(proxy.received > received + 100_000), true);
  }

  it('changes nothing when the connection breaks, and is repeated', async () => {
    const { slapd, proxy, database, service } = await startSlowly();
    try {
      const revision = await readRevision(service);
      const isHealed = (await countPeople(service)) === 1997;
      proxy.cut();
      await eventually(async () => (await readStatus(service)).state, 'FAILING');
      if (!isHealed) expect(await readRevision(service)).toBe(revision);
      proxy.restore();
      await eventually(() => countPeople(service), 1997);
      await eventually(async () => (await readStatus(service)).state, 'IDLE');
      expect((await countDeletions(service)).people).toBe(3);
    } finally {
      await service.stop();
      await proxy.stop();
      await slapd.remove();
      await database.drop();
    }
  });

  it('ends with the application, and leaves differences to the next process', async () => {
    // The timeout for a silent server never passes: only the end of the application can end the wait.
    const start = globalThis.setTimeout;
    const withoutLimit = (...[run, delay, ...values]: Parameters<typeof setTimeout>) =>
      start(run, delay === SILENCE ? 10 * 86_400_000 : delay, ...values);
    const timers = jest.spyOn(globalThis, 'setTimeout').mockImplementation(withoutLimit);
    const { slapd, proxy, database, environment, service } = await startSlowly();
    try {
      proxy.freeze();
      await service.stop();
      expect(timers.mock.calls.some(([, delay]) => delay === SILENCE)).toBe(true);
      timers.mockRestore();
      proxy.restore();
      const next = await TestService.start({ environment, compared: false });
      try {
        await eventually(() => countPeople(next), 1997);
        const rows = await query<{ kind: string }>(
          next,
          `select id from revisions where users_created = 0 and (users_deleted, users_updated) <> (3, 0)`,
        );
        expect(rows).toEqual([]);
      } finally {
        await next.stop();
      }
    } finally {
      await proxy.stop();
      await slapd.remove();
      await database.drop();
    }
  });
});
