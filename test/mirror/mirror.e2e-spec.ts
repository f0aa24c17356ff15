import { randomUUID } from 'node:crypto';
import { appendFileSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import sharp from 'sharp';
import { DataSource } from 'typeorm';
import { buildLdif, type TestGroup, type TestPerson } from '../support/builders/directory.js';
import { readRevision, takeOver } from '../support/clients/mirror.js';
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

function withPerson(id: string, changes: Partial<TestPerson>): TestPerson[] {
  return PEOPLE.map((person) => (person.id === id ? { ...person, ...changes } : person));
}

function withGroup(id: string, changes: Partial<TestGroup>): TestGroup[] {
  return GROUPS.map((group) => (group.id === id ? { ...group, ...changes } : group));
}

describe('a directory file that changes', () => {
  const service = TestService.forSuite({
    ldif: buildLdif(PEOPLE, GROUPS),
    environment: { DIRECTORY_SYNC_SECONDS: '1', DIRECTORY_GUARD_PERCENT: '100' },
  });
  let authorization: string;

  beforeAll(async () => {
    authorization = await service.serviceAccount('read', 'directory');
  });

  afterEach(async () => {
    const ldif = buildLdif(PEOPLE, GROUPS);
    service.replaceDirectory(ldif);
    await service.until(async () => JSON.stringify(await namesIn('club')) === '["Anna","Ben","cleo","dan"]');
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

  async function createdAtOf(user: string): Promise<Date | null> {
    const rows: { createdAt: Date }[] = await service.app
      .get(DataSource)
      .query('select created_at as "createdAt" from users where id = $1', [user]);
    return rows[0]?.createdAt ?? null;
  }

  it('is never visible partially', async () => {
    let isOver = false;
    const seen = new Set<string>();
    const reader = async () => {
      while (!isOver) {
        const { user, group } = await sendRequest<
          Members & { user: { name: string }; group: { name: string } }
        >(
          `{ user(user: {id: "anna"}) { name }
             group(group: {id: "club"}) { name members(first: 1) { totalCount nodes { user { name } } } } }`,
        );
        seen.add([user.name, group.name, group.members.nodes[0]?.user.name].join(' '));
      }
    };
    const readers = Promise.all([reader(), reader(), reader()]);
    for (const name of ['A1', 'A2', 'A3']) {
      await takeOver(service, buildLdif(withPerson('anna', { name }), withGroup('club', { name })));
      // A request that began before the change may still be under way.
      await service.until(() => Promise.resolve(seen.has(`${name} ${name} ${name}`)));
    }
    isOver = true;
    await readers;
    expect([...seen].filter((each) => !/^(\S+) \1 \1$/.test(each))).toEqual(['Anna Club Anna']);
    expect(seen.size).toBe(4);
  });

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

    await takeOver(service, buildLdif(PEOPLE, GROUPS));
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
});
