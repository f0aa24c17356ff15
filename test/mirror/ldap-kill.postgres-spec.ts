import { setTimeout as sleep } from 'node:timers/promises';
import { readConfig } from '../../src/config/config.js';
import { DirectoryDataSource } from '../../src/database/connections/data-source.js';
import { TestProcess } from '../support/clients/command.js';
import { BASE_DN, buildLdif, groupDn, personDn } from '../support/builders/directory.js';
import { eventually, isEqual } from '../support/eventually.js';
import { directorySettings } from '../support/servers/ldap.js';
import { expectMirror, parseDump } from '../support/builders/ldap-content.js';
import { readInconsistencies, readMirror } from '../support/builders/ldap-mirror.js';
import { findFreePort } from '../support/servers/postgres.mjs';
import { repetitions } from '../support/repetitions.js';
import { startSlapd, type TestSlapd } from '../support/servers/slapd.mjs';
import { createDatabase, type TestDatabase } from '../support/servers/store.js';

const KILLS = repetitions({ usually: 1, long: 16 });
/** Maximum of milliseconds between the first change and a kill. */
const MAX_DELAY_MS = 400;
/** Milliseconds between two changes: shorter than a revision, and long enough for the service to run. */
const PAUSE = 20;

const PEOPLE = Array.from({ length: 300 }, (_, index) => `person-${index}`);
const [EVEN, ODD] = [0, 1].map((parity) => PEOPLE.filter((__, index) => index % 2 === parity)) as [
  string[],
  string[],
];

const LDIF = buildLdif(
  PEOPLE.map((id) => ({ id, name: 'Version 0' })),
  [
    { id: 'club', members: EVEN },
    { id: 'all', owners: ['@club'] },
  ],
);

const any = (ids: readonly string[]) => ids[Math.floor(Math.random() * ids.length)] ?? '';

/** Changes of users, each of whom changes rarely, and of a group that always has one of two halves of them. */
function changes(version: number): string {
  const renamed = Array.from(
    { length: 8 },
    () => `dn: ${personDn(any(PEOPLE))}\nchangetype: modify\nreplace: cn\ncn: Version ${version}\n`,
  );
  const members = (version % 2 === 0 ? EVEN : ODD).map((id) => `member: ${personDn(id)}`);
  const guest = `uid=guest-${version},ou=people,${BASE_DN}`;
  return [
    ...renamed,
    `dn: ${guest}\nchangetype: add\nobjectClass: inetOrgPerson\nuid: guest-${version}\ncn: Guest\nsn: Guest\n`,
    `dn: ${groupDn('club')}\nchangetype: modify\nreplace: member\n${members.join('\n')}\n`,
    `dn: uid=guest-${version - 3},ou=people,${BASE_DN}\nchangetype: delete\n`,
  ].join('\n');
}

describe('a service that is killed during changes', () => {
  let slapd: TestSlapd;
  let database: TestDatabase;
  let dataSource: DirectoryDataSource;

  beforeAll(async () => {
    slapd = await startSlapd({ ldif: LDIF });
    database = await createDatabase();
    dataSource = new DirectoryDataSource(readConfig({ DATABASE_URL: database.url }).database, []);
    await dataSource.initialize();
  });

  afterAll(async () => {
    await dataSource.destroy();
    await database.drop();
    await slapd.remove();
  });

  async function start(): Promise<TestProcess> {
    const service = TestProcess.start('main', [], {
      PORT: String(await findFreePort()),
      DATABASE_URL: database.url,
      DIRECTORY_GUARD_PERCENT: '100',
      ...directorySettings(slapd),
    });
    await service.untilPrinted(/pushes changes/);
    return service;
  }

  /** Changes the directory until it is stopped. */
  async function keepChanging({ aborted }: { aborted: () => boolean }): Promise<void> {
    for (let version = 1; !aborted(); version++) {
      await slapd.modify(changes(version));
      await sleep(PAUSE);
    }
  }

  /** Invalid states: a partial revision, or counters of another one. */
  async function findBroken(): Promise<unknown[]> {
    const parities: { group: string; parities: number[] }[] = await dataSource.query(`
      select g.id as "group", array_agg(distinct substring(u.id from 8)::integer % 2) as parities
      from effective_memberships m join groups g on g.key = m.group_key join users u on u.key = m.user_key
      group by g.id having count(*) <> ${PEOPLE.length / 2} or count(distinct substring(u.id from 8)::integer % 2) <> 1`);
    const counted: unknown[] = await dataSource.query(`
      select s.revision, r.* from mirror_state s,
        (select max(id) as latest, sum(users_created - users_deleted) as people from revisions) r
      where s.revision <> r.latest or s.user_count <> r.people`);
    return [...parities, ...counted, ...(await readInconsistencies(dataSource))];
  }

  it('has committed or rolled back each revision, and continues', async () => {
    let isOver = false;
    const changing = keepChanging({ aborted: () => isOver });
    for (let kill = 0; kill < KILLS; kill++) {
      const service = await start();
      await sleep(Math.random() * MAX_DELAY_MS);
      await service.kill('SIGKILL');
      expect(await findBroken()).toEqual([]);
    }
    isOver = true;
    await changing;

    const service = await start();
    const wanted = expectMirror(parseDump(await slapd.search({ attributes: ['*', 'entryUUID'] })));
    const isWanted = async () => isEqual(await readMirror(dataSource), wanted);
    await eventually(isWanted, true).catch(() => undefined);
    expect(await readMirror(dataSource)).toEqual(wanted);
    await service.kill('SIGTERM');
  });
});
