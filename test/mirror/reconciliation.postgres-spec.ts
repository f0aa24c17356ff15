import { DataSource } from 'typeorm';
import { Synchronizer } from '../../src/mirror/sync/synchronizer.js';
import { runCommand } from '../support/clients/command.js';
import { BASE_DN, buildLdif, personDn } from '../support/builders/directory.js';
import { eventually } from '../support/eventually.js';
import { directorySettings, FollowedDirectory } from '../support/servers/ldap.js';
import {
  countDeletions,
  readIds,
  readMembers,
  readMirror,
  readNames,
  readPeople,
} from '../support/builders/ldap-mirror.js';
import { readSamples } from '../support/clients/metrics.js';
import { readStatus } from '../support/clients/mirror.js';
import { findFreePort } from '../support/servers/postgres.mjs';
import { MIRROR_DN } from '../support/servers/slapd.mjs';
import { repetitions } from '../support/repetitions.js';

/** Two pictures that differ. */
const GIF = Buffer.from('R0lGODlhAQABAAAAACH5BAEKAAEALAAAAAABAAEAAAICTAEAOw==', 'base64');
const OTHER_GIF = Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64');

/** A reconciliation runs continuously, or never during a test. */
const OFTEN = '1';
const NEVER = '86400';

/** Sequential, while reconciliations run continuously. */
const CHANGES = repetitions({ usually: 8, long: 60 });
const PEOPLE = ['anna', 'ben', 'cleo', 'dan', 'eve', 'finn'];
const LDIF = buildLdif(
  PEOPLE.map((id) => ({ id, email: `${id}@example.org`, photo: GIF })),
  [{ id: 'club', members: ['anna', 'ben'] }],
);

const rename = (id: string, name: string) =>
  `dn: ${personDn(id)}\nchangetype: modify\nreplace: displayName\ndisplayName: ${name}\n`;

describe.each([
  ['pushes changes', true],
  ['is polled for changes', false],
])('a mirror of a server that %s', (_, syncprov) => {
  let directory: FollowedDirectory;

  async function start(seconds: { identities: string; contents: string }, ldif = LDIF): Promise<void> {
    directory = await FollowedDirectory.start(
      { ldif, syncprov },
      {
        DIRECTORY_RECONCILE_SECONDS: seconds.identities,
        DIRECTORY_RECONCILE_CONTENTS_SECONDS: seconds.contents,
      },
    );
  }

  afterEach(() => directory.stop());

  const nameOf = async (id: string) => (await readNames(directory.service))[id];
  const query = <Row>(sql: string): Promise<Row[]> => directory.service.app.get(DataSource).query(sql);
  const untilReconciled = async (kind: string) => {
    const read = async () => {
      const rows = await query<{ runs: number }>(`select runs from reconciliations where kind = '${kind}'`);
      return rows[0]?.runs ?? 0;
    };
    const runs = await read();
    // The current reconciliation may have started before.
    await eventually(async () => (await read()) >= runs + 2, true);
  };

  it('is correct immediately after a backup of the server was restored and changed', async () => {
    await start({ identities: NEVER, contents: NEVER });
    const { slapd } = directory;
    const backup = await slapd.dump();
    await directory.change(
      rename('anna', 'Anna'),
      `dn: ${personDn('ben')}\nchangetype: modify\nreplace: jpegPhoto\njpegPhoto:: ${OTHER_GIF.toString('base64')}\n`,
      `dn: cn=club,ou=groups,${BASE_DN}\nchangetype: modify\nadd: member\nmember: ${personDn('cleo')}\n`,
    );
    await eventually(
      () => readMembers(directory.service, 'club'),
      ['anna MEMBER', 'ben MEMBER', 'cleo MEMBER'],
    );
    await eventually(() => nameOf('anna'), 'Anna');
    const { port } = slapd;
    await slapd.stop();
    await slapd.restore(backup);
    // Its contextCSN is newer than all that the service knows when the server is back.
    await slapd.restart({ port: undefined });
    await directory.change(rename('dan', 'Dan'));
    await slapd.restart({ port });
    await eventually(
      () => readNames(directory.service),
      Object.fromEntries(PEOPLE.map((id) => [id, id === 'dan' ? 'Dan' : id])),
    );
    await eventually(() => readMembers(directory.service, 'club'), ['anna MEMBER', 'ben MEMBER']);
    const photos = `select count(distinct photo)::integer as count from users`;
    await eventually(() => query(photos), [{ count: 1 }]);
    await eventually(async () => (await readStatus(directory.service)).state, 'IDLE');
  });

  it('finds contents that differ although the server reports no change', async () => {
    await start({ identities: NEVER, contents: OFTEN });
    const { slapd } = directory;
    await untilReconciled('contents');
    const original = await slapd.dump();
    await slapd.stop();
    // The same entryCSN and modifyTimestamp, and other values.
    await slapd.restore(
      original
        .replace('mail: anna@example.org', 'mail: berta@example.org')
        .replace(`member: ${personDn('ben')}`, `member: ${personDn('dan')}`)
        .replace(/^(cn: )finn$/m, '$1Finn'),
    );
    await slapd.start();
    await eventually(
      () => query(`select email from users where id = 'anna'`),
      [{ email: 'berta@example.org' }],
    );
    await eventually(() => nameOf('finn'), 'Finn');
    await eventually(() => readMembers(directory.service, 'club'), ['anna MEMBER', 'dan MEMBER']);
    const [row] = await query<{ healed: number }>(
      `select sum(users_updated + memberships_added)::integer as healed from revisions where users_created = 0`,
    );
    expect(row?.healed).toBe(3);
    await untilReconciled('contents');
    const samples = readSamples(await (await fetch(`${directory.service.url}/metrics`)).text());
    const valueOf = (name: string, kind: string) =>
      samples.find((sample) => sample.name === name && sample.labels['kind'] === kind)?.value;
    // Either reconciliation may have found the group, because that of identities compares groups completely.
    const [ofIdentities = 0, ofContents = 0] = ['identities', 'contents'].map((kind) =>
      valueOf('directory_mirror_healed_entries_total', kind),
    );
    expect(ofIdentities + ofContents).toBe(3);
    expect(valueOf('directory_mirror_last_reconciliation_seconds', 'contents')).toBeGreaterThan(0);
    const { database } = directory.service.config;
    const checked = await runCommand(['check'], {
      ...directorySettings(slapd),
      PORT: String(await findFreePort()),
      DATABASE_URL: database.url,
      DIRECTORY_RECONCILE_CONTENTS_SECONDS: '86400',
      DIRECTORY_RECONCILE_SECONDS: '86400',
    });
    expect(checked.stdout).toMatch(
      /\nok {7}reconciliation: identities of 7 entries compared at \S+Z in \S+ s, \d corrected; contents of 7 entries compared at \S+Z in/,
    );
  });

  it('compares identities in the background, and repairs skipped entries, too', async () => {
    const odd = `\ndn: cn=nobody,ou=people,${BASE_DN}\nobjectClass: inetOrgPerson\ncn: Gina\nsn: Gina\n`;
    await start({ identities: OFTEN, contents: NEVER }, LDIF + odd);
    await untilReconciled('identities');
    expect(await nameOf('gina')).toBeUndefined();
    await directory.slapd.changeSilently(
      [
        `dn: cn=nobody,ou=people,${BASE_DN}\nchangetype: modify\nadd: uid\nuid: gina\n`,
        rename('anna', 'Anna'),
        `dn: ${personDn('eve')}\nchangetype: delete\n`,
      ].join('\n'),
    );
    await eventually(() => readNames(directory.service), {
      anna: 'Anna',
      ben: 'ben',
      cleo: 'cleo',
      dan: 'dan',
      finn: 'finn',
      gina: 'Gina',
    });
    expect(await query('select reason from quarantined_entries')).toEqual([]);
    expect(await readStatus(directory.service)).toMatchObject({ state: 'IDLE', blockedReason: null });
  });

  it('finds an entry with another DN, and keeps its row', async () => {
    await start({ identities: OFTEN, contents: NEVER });
    await untilReconciled('identities');
    const { slapd } = directory;
    const before = (await readPeople(directory.service))['anna'];
    const original = await slapd.dump();
    await slapd.stop();
    // The contextCSN stays the same.
    await slapd.restore(original.replaceAll('uid=anna', 'uid=berta').replaceAll('uid: anna', 'uid: berta'));
    await slapd.start();
    await eventually(() => readIds(directory.service), ['ben', 'berta', 'cleo', 'dan', 'eve', 'finn']);
    const { key, uuid } = (await readPeople(directory.service))['berta'] ?? {};
    expect({ key, uuid }).toEqual({ key: before?.key, uuid: before?.uuid });
    expect(await readMembers(directory.service, 'club')).toEqual(['ben MEMBER', 'berta MEMBER']);
    expect((await countDeletions(directory.service)).people).toBe(0);
  });

  it('finds pictures that are added or removed without a notification', async () => {
    await start({ identities: NEVER, contents: OFTEN });
    await untilReconciled('contents');
    const { slapd } = directory;
    const original = await slapd.dump();
    await slapd.stop();
    const isOf = (id: string, record: string) => record.startsWith(`dn: ${personDn(id)}\n`);
    await slapd.restore(
      original
        .split('\n\n')
        .map((record) => (isOf('anna', record) ? record.replace(/^jpegPhoto::.*\n/m, '') : record))
        .map((record) =>
          isOf('ben', record)
            ? `${record.trimEnd()}\nprofilePicture:: ${OTHER_GIF.toString('base64')}\n`
            : record,
        )
        .join('\n\n'),
    );
    await slapd.start();
    await eventually(
      () => query(`select id from users where photo is null or picture is not null order by id`),
      [{ id: 'anna' }, { id: 'ben' }],
    );
  });

  it('holds an attribute that the server suddenly hides, and continues when it is visible again', async () => {
    await start({ identities: NEVER, contents: OFTEN });
    await untilReconciled('contents');
    const before = await readMirror(directory.service.app.get(DataSource));
    const { runs } = directory.service.app.get(Synchronizer);
    const open = [
      'access to attrs=userPassword by anonymous auth by * none',
      `access to * by dn.exact="${MIRROR_DN}" read by * none`,
    ];
    for (const attribute of ['mail', 'jpegPhoto']) {
      const hidden = [open[0] ?? '', `access to attrs=${attribute} by * none`, open[1] ?? ''];
      await directory.slapd.restart({ acl: hidden });
      const read = async () => {
        const { state, blockedReason } = await readStatus(directory.service);
        return [state, blockedReason];
      };
      const reason = `It would take the attribute ${attribute} from 6 of 6 people: at most 3 are let through`;
      await eventually(read, ['BLOCKED', reason]);
      // It stays so for the next sessions.
      await directory.slapd.restart();
      const blockedRuns = () => runs.ended.get('blocked') ?? 0;
      const earlier = blockedRuns();
      await eventually(() => Promise.resolve(blockedRuns() > earlier), true);
      await eventually(read, ['BLOCKED', reason]);
      await directory.slapd.restart({ acl: open });
      await eventually(read, ['IDLE', null]);
    }
    expect(await readMirror(directory.service.app.get(DataSource))).toEqual(before);
    expect(await countDeletions(directory.service)).toEqual({ people: 0, memberships: 0 });
  });

  it('never applies an older reading after a newer change', async () => {
    await start({ identities: OFTEN, contents: OFTEN });
    const seen: string[] = [];
    // In the order of the text, too.
    const nameAt = (index: number) => `Anna ${index + 10}`;
    for (let index = 0; index < CHANGES; index++) {
      const name = nameAt(index);
      await directory.change(rename('anna', name));
      if (syncprov) await eventually(() => nameOf('anna'), name);
      seen.push((await nameOf('anna')) ?? '');
    }
    await untilReconciled('contents');
    expect(await nameOf('anna')).toBe(nameAt(CHANGES - 1));
    const names = seen.filter((name) => name !== 'anna');
    expect(names).toEqual([...names].sort());
  });
});
