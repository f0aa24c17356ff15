import pg from 'pg';
import { directoryOf } from '../support/clients/monotonic-reader.js';
import { signUrl } from '../../src/media/signing/signed-url.js';
import { SIGNING_KEYS, type SigningKeys } from '../../src/media/signing/signing-keys.js';
import { buildLdif } from '../support/builders/directory.js';
import { dump, restore } from '../support/builders/dump.js';
import { dataOf, post } from '../support/clients/http.js';
import { readRevision, stopFollowing } from '../support/clients/mirror.js';
import { TestService } from '../support/servers/service.js';
import { TwinService } from '../support/twin.js';

const QUESTION = '{ user(user: {id: "p1"}) { name } }';

describe('a database that is restored under a running service', () => {
  /** Applies revisions. */
  let service: TestService;
  let twin: TwinService;
  let url: string;
  let authorization: string;
  let directory = 1;

  beforeAll(async () => {
    service = await TestService.start({ ldif: directoryOf(directory), compared: false });
    await stopFollowing(service);
    twin = await TwinService.start(service);
    ({ url } = service.config.database);
    authorization = await service.serviceAccount('read', 'directory');
  });

  afterAll(async () => {
    await twin.stop();
    await service.stop();
  });

  async function nameFrom(from: TestService | TwinService): Promise<unknown> {
    const { user } = dataOf(await post(from, { query: QUESTION }, { authorization })) as {
      user: { name: string };
    };
    return user.name;
  }

  /** Waits until both processes serve a directory, and then compares all their responses with it, cached or not. */
  async function expectBoth(number: number): Promise<void> {
    for (const each of [service, twin]) {
      await service.until(async () => (await nameFrom(each)) === `p1 of ${number}`);
      for (let time = 0; time < 5; time++) expect(await nameFrom(each)).toBe(`p1 of ${number}`);
    }
  }

  async function apply(): Promise<number> {
    service.replaceDirectory(directoryOf(++directory));
    expect((await service.synchronize()).kind).toBe('applied');
    return readRevision(service);
  }

  it('serves the restored content, though its revision number is lower, and later changes', async () => {
    const kept = directory;
    const backup = await dump(url);
    const lost = await apply();
    await expectBoth(directory);
    await restore(url, backup);
    await expectBoth(kept);
    // The number of the lost revision is used again.
    expect(await apply()).toBe(lost);
    await expectBoth(directory);
  });

  it('is unavailable until all tables are filled', async () => {
    const client = new pg.Client(url);
    await client.connect();
    await client.query('refresh materialized view database_complete with no data');
    for (const each of [service, twin]) {
      const { status, body } = await post(each, { query: QUESTION }, { authorization });
      expect([status, body]).toEqual([503, expect.stringContaining('SERVICE_UNAVAILABLE')]);
    }
    await client.query('refresh materialized view database_complete');
    await client.end();
    await expectBoth(directory);
  });
});

/** Like a restore and another revision between two heartbeats, with these statements. */
async function replaceRevision(url: string, number: number, statements: readonly string[]): Promise<void> {
  const client = new pg.Client(url);
  await client.connect();
  await client.query('begin');
  await client.query('update mirror_state set revision = null');
  const { rows } = await client.query<Record<string, unknown>>(
    'delete from revisions where id = $1 returning *',
    [number],
  );
  const { uuid: _lost, ...rest } = rows[0] ?? {};
  const columns = Object.keys(rest);
  await client.query(
    `insert into revisions (${columns.join(', ')}) overriding system value
     values (${columns.map((_, index) => `$${index + 1}`).join(', ')})`,
    Object.values(rest),
  );
  await client.query(
    'update mirror_state set (revision, revision_uuid) = (select id, uuid from revisions where id = $1)',
    [number],
  );
  for (const statement of statements) await client.query(statement);
  await client.query('commit');
  await client.end();
}

describe('a database from before there were rules of visibility that is restored under a running service', () => {
  /** The mirror as a service without rules has written it. */
  const WITHOUT_RULES = [
    'update users set visible_to = 0',
    `update mirror_state set source_fingerprint = regexp_replace(source_fingerprint, '[.][0-9]+$', '')`,
  ];
  const QUERY = '{ users(first: 5) { nodes { id } } }';
  const PREVIEW = 'mutation { updateUser(input: {user: {id: "anna"}, givenName: "A"}) { user { id } } }';
  const service = TestService.forSuite({
    ldif: buildLdif([{ id: 'anna', familyName: 'hidden' }, { id: 'ben' }]),
    visibility: { users: [{ where: '(sn=hidden)', to: 'self' }] },
    compared: false,
  });

  it('shows nothing that the rules hide, also to the first query and the first preview', async () => {
    const { database } = service.config;
    await stopFollowing(service);
    const authorization = await service.serviceAccount('read', 'directory', 'write');
    expect(await service.read(QUERY, { authorization })).toEqual({ users: { nodes: [{ id: 'ben' }] } });
    await replaceRevision(database.url, await readRevision(service), WITHOUT_RULES);
    // The response to QUERY can be remembered.
    const operations = ['{ users(first: 4) { nodes { id } } }', PREVIEW];
    const answers = await Promise.all(operations.map((each) => service.query(each, { authorization })));
    for (const { errors } of answers)
      expect(errors.map(({ extensions }) => extensions.code)).toEqual(['SERVICE_UNAVAILABLE']);
  });

  it('shows no photo that the rules hide, also to the first request for it', async () => {
    const { signing: key } = service.app.get<SigningKeys>(SIGNING_KEYS);
    const path = signUrl({ baseUrl: '', kind: 'photo', id: 'anna', size: null, now: new Date(), key });
    expect((await fetch(`${service.url}${path}`)).status).toBe(503);
  });
});
