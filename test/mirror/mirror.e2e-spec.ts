import { randomUUID } from 'node:crypto';
import { appendFileSync, renameSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import sharp from 'sharp';
import { DataSource } from 'typeorm';
import { buildLdif, type TestGroup, type TestPerson } from '../support/builders/directory.js';
import { isEqual } from '../support/eventually.js';
import { readRevision, readStatus, replaceUntil, takeOver } from '../support/clients/mirror.js';
import { TestService } from '../support/servers/service.js';

const uuids = { anna: randomUUID(), ben: randomUUID(), club: randomUUID() };

const PEOPLE: TestPerson[] = [
  { id: 'anna', name: 'Anna', uuid: uuids.anna },
  { id: 'ben', name: 'Ben', uuid: uuids.ben },
  ...['cleo', 'dan', 'eve', 'finn'].map((id) => ({ id, name: id })),
];
const GROUPS: TestGroup[] = [
  { id: 'club', name: 'Club', members: ['anna', 'ben', '@team'], uuid: uuids.club },
  { id: 'team', name: 'Team', members: ['cleo', 'dan'] },
];

const GOOD = buildLdif(PEOPLE, GROUPS);
/** What is served then: all users, and the members of the club. */
const ALL = [
  { users: { totalCount: 6, nodes: PEOPLE.map(({ id, name }) => ({ id, name })) } },
  ['Anna', 'Ben', 'cleo', 'dan'],
];

function withPerson(id: string, changes: Partial<TestPerson>): TestPerson[] {
  return PEOPLE.map((person) => (person.id === id ? { ...person, ...changes } : person));
}

function withGroup(id: string, changes: Partial<TestGroup>): TestGroup[] {
  return GROUPS.map((group) => (group.id === id ? { ...group, ...changes } : group));
}

describe('a directory file that changes', () => {
  const service = TestService.forSuite({
    ldif: GOOD,
    environment: { DIRECTORY_SYNC_SECONDS: '1', DIRECTORY_GUARD_PERCENT: '100' },
  });
  let authorization: string;

  beforeAll(async () => {
    authorization = await service.serviceAccount('read', 'directory');
  });

  afterEach(async () => {
    service.replaceDirectory(GOOD);
    await service.until(async () => isEqual(await served(), ALL));
    await replaceUntil(service, GOOD, 'IDLE');
  });

  const sendRequest = <Data>(query: string) => service.read<Data>(query, { authorization });

  interface Members {
    group: { members: { totalCount: number; nodes: { user: { name: string } }[] } };
  }

  async function namesIn(group: string): Promise<string[]> {
    const { group: found } = await sendRequest<Members>(
      `{ group(group: {id: "${group}"}) { members(first: 100) { totalCount nodes { user { name } } } } }`,
    );
    expect(found.members.totalCount).toBe(found.members.nodes.length);
    return found.members.nodes.map(({ user }) => user.name);
  }

  const served = async () => [
    await sendRequest('{ users(first: 9) { totalCount nodes { id name } } }'),
    await namesIn('club'),
  ];

  async function createdAtOf(user: string): Promise<Date | null> {
    const rows: { createdAt: Date }[] = await service.app
      .get(DataSource)
      .query('select created_at as "createdAt" from users where id = $1', [user]);
    return rows[0]?.createdAt ?? null;
  }

  it('keeps the row of a renamed user with the same entryUUID, and the groups of the file', async () => {
    const before = await createdAtOf('anna');
    // The group still contains the old DN, which no entry has any more.
    await takeOver(service, buildLdif(withPerson('anna', { id: 'anna.b' }), GROUPS));
    expect(await createdAtOf('anna.b')).toEqual(before);
    expect(await createdAtOf('anna')).toBeNull();
    expect(await namesIn('club')).toEqual(['Ben', 'cleo', 'dan']);

    await takeOver(
      service,
      buildLdif(
        withPerson('anna', { id: 'anna.b' }),
        withGroup('club', { members: ['anna.b', 'ben', '@team'] }),
      ),
    );
    expect(await namesIn('club')).toEqual(['Anna', 'Ben', 'cleo', 'dan']);
  });

  it('adds, changes and removes photos, and keeps no unused ones', async () => {
    const paint = (background: string) =>
      sharp({ create: { width: 8, height: 8, channels: 3, background } })
        .jpeg()
        .toBuffer();
    const etagOfPhoto = async () => {
      const { user } = await sendRequest<{ user: { photo: string | null } }>(
        '{ user(user: {id: "anna"}) { photo } }',
      );
      return user.photo === null ? null : (await fetch(user.photo)).headers.get('etag');
    };
    const countPictures = async () => {
      const rows: { count: number }[] = await service.app
        .get(DataSource)
        .query('select count(*)::integer as count from pictures');
      return rows[0]?.count;
    };
    const [red, blue] = [await paint('red'), await paint('blue')];

    await takeOver(
      service,
      buildLdif(
        withPerson('anna', { photo: red, picture: blue }).map((person) =>
          person.id === 'ben' ? { ...person, photo: red } : person,
        ),
        GROUPS,
      ),
    );
    const first = await etagOfPhoto();
    expect(first).toMatch(/^"/);
    expect(await countPictures()).toBe(2);

    await takeOver(service, buildLdif(withPerson('anna', { photo: blue }), GROUPS));
    expect(await etagOfPhoto()).not.toBe(first);
    expect(await countPictures()).toBe(1);

    // As of a run that has failed after it had read the entry.
    await service.app
      .get(DataSource)
      .query(`insert into pictures (sha256, bytes) values (decode(repeat('00', 32), 'hex'), '')`);
    await takeOver(service, GOOD);
    expect(await etagOfPhoto()).toBeNull();
    expect(await countPictures()).toBe(0);
  });

  it('is not applied while it is being written', async () => {
    const before = await readRevision(service);
    const lines = buildLdif(withPerson('finn', { name: 'Last' }), GROUPS).split('\n');
    const file = service.directoryFile;
    writeFileSync(file, '');
    for (let start = 0; start < lines.length; start += 4) {
      appendFileSync(
        file,
        lines
          .slice(start, start + 4)
          .map((line) => `${line}\n`)
          .join(''),
      );
      await sleep(20);
    }
    await service.until(async () => (await readRevision(service)) > before);
    expect(await readRevision(service)).toBe(before + 1);
    expect(await sendRequest('{ users(first: 0) { totalCount } user(user: {id: "finn"}) { name } }')).toEqual(
      { users: { totalCount: 6 }, user: { name: 'Last' } },
    );
  });

  it.each([
    ['an invalid line', 'dn: uid=secret\n\nconfidential\n', 'LDIF line 3: '],
    [
      'a duplicate DN',
      `${GOOD}\n${GOOD.split('\n').slice(2).join('\n')}`,
      'a dn that occurs in the file already',
    ],
  ])('with %s is rejected with the line, and responses stay the same', async (_, ldif, reason) => {
    const revision = await readRevision(service);
    const { asOf } = await readStatus(service);
    const status = await replaceUntil(service, ldif, 'FAILING');
    expect(status.blockedReason).toContain(reason);
    expect(status.blockedReason).not.toMatch(/confidential|secret/);
    expect(status.asOf).toBe(asOf);
    expect(await served()).toEqual(ALL);

    expect(await replaceUntil(service, GOOD, 'IDLE')).toMatchObject({ blockedReason: null });
    expect(await readRevision(service)).toBe(revision);
  });

  it('that is missing makes synchronization fail until it is back', async () => {
    const file = service.directoryFile;
    renameSync(file, `${file}.away`);
    await service.until(async () => (await readStatus(service)).state === 'FAILING');
    const { blockedReason } = await readStatus(service);
    expect(blockedReason).toBe('The directory file does not exist, or cannot be read');
    expect(await served()).toEqual(ALL);

    renameSync(`${file}.away`, file);
    await service.until(async () => (await readStatus(service)).state === 'IDLE');
  });

  it.each([
    ['nothing', ''],
    ['groups only', buildLdif([], [{ id: 'club' }])],
  ])('with %s is held, and all users are still served', async (_, ldif) => {
    const status = await replaceUntil(service, ldif, 'BLOCKED');
    expect(status.blockedReason).toBe('The directory no longer contains users');
    expect(await served()).toEqual(ALL);
  });
});
