import { HttpAdapterHost } from '@nestjs/core';
import { DataSource } from 'typeorm';
import { AccessLog } from '../../src/access-log/access-log.js';
import { AccessLogEntity } from '../../src/access-log/access-log.entity.js';
import { dayOf, listCounts } from '../../src/access-log/access-counts.js';
import { DirectoryDataSource } from '../../src/database/connections/data-source.js';
import { ENTITIES } from '../../src/entities.js';
import { PICTURE, buildLdif, type TestGroup, type TestPerson } from '../support/builders/directory.js';
import { Executions } from '../support/builders/executions.js';
import { stopFollowing } from '../support/clients/mirror.js';
import { TIMERS } from '../support/timers.js';
import { TestService } from '../support/servers/service.js';

/** The user of the client `demo-basic`. */
const OWNER = 'ada.martin';
const GROUPS: TestGroup[] = [
  { id: 'club', name: 'Club of people', members: ['ben', 'cleo'], owners: [OWNER] },
];
const ALL_DAYS = { from: '2000-01-01', to: '2100-01-01', principal: null };

const service = TestService.forSuite(() => {
  const people: TestPerson[] = [
    { id: OWNER, photo: PICTURE },
    { id: 'ben', email: 'ben@example.org' },
    { id: 'cleo' },
  ];
  return { ldif: buildLdif(people, GROUPS), compared: false };
});
let log: AccessLog;
let dataSource: DataSource;
let executions: Executions;
let program: string;

beforeAll(async () => {
  await stopFollowing(service);
  log = service.app.get(AccessLog);
  dataSource = service.app.get(DataSource);
  executions = new Executions(service.app);
  program = await service.serviceAccount('read', 'directory');
});

beforeEach(async () => {
  await log.flush();
  await dataSource.query('delete from access_log');
});

function sendRequest(query: string, authorization = program) {
  return service.query(query, { authorization });
}

/** The access log of another process. */
function anotherLog(accessLogDays = 90): AccessLog {
  return new AccessLog(
    { ...service.config, accessLogDays },
    dataSource.getRepository(AccessLogEntity),
    new HttpAdapterHost(),
  );
}

/** The counts: by field, requests and users. */
async function readCounts(principal: string | null = null): Promise<Record<string, [number, number]>> {
  await log.flush();
  const counts = await listCounts(dataSource.getRepository(AccessLogEntity), { ...ALL_DAYS, principal });
  return Object.fromEntries(counts.map(({ field, requests, users }) => [field, [requests, users]]));
}

async function readActors(): Promise<string[]> {
  await log.flush();
  const counts = await listCounts(dataSource.getRepository(AccessLogEntity), ALL_DAYS);
  return [...new Set(counts.map(({ principal, actingFor }) => `${principal} for ${actingFor}`))].sort();
}

describe('the access log', () => {
  it('counts the fields of a response and their users, and stores nothing else', async () => {
    await sendRequest(`{
      users(first: 2) { nodes { id mail: email } }
      group(group: {id: "club"}) { name members(first: 10) { totalCount edges { node { user { id } role { value } } } } }
    }`);
    expect(await readCounts()).toEqual({
      'User.id': [1, 5],
      'User.email': [1, 2],
      'GroupMembership.role': [1, 3],
    });
    const rows = await dataSource.query<Record<string, unknown>[]>('select * from access_log');
    expect(Object.keys(rows[0] ?? {})).toEqual([
      'day',
      'principal',
      'acting_for',
      'field',
      'requests',
      'users',
    ]);
    expect(JSON.stringify(rows)).not.toMatch(/ben@|cleo/);
  });

  it('counts a cached response each time, for each client', async () => {
    const other = await service.serviceAccount('read', 'directory');
    const query = '{ users(first: 2) { nodes { name } } }';
    const before = executions.count;
    for (let time = 0; time < 6; time++) await sendRequest(query);
    await sendRequest(query, other);
    expect(executions.count - before).toBe(1);
    expect(await readActors()).toHaveLength(2);
    const counts = await listCounts(dataSource.getRepository(AccessLogEntity), ALL_DAYS);
    expect(counts.map(({ requests, users }) => [requests, users])).toEqual([
      [6, 12],
      [1, 2],
    ]);
  });

  it('names the client: the service account, or the application and its user', async () => {
    await sendRequest('{ user(user: {id: "ben"}) { id } }');
    await sendRequest('{ profile { name user { email } } }', await service.accessToken('profile read'));
    const [account] = (await readActors()).slice(-1);
    expect(account).toMatch(/^service-account:test-\w+ for $/);
    expect(await readActors()).toContain(`client:demo-basic for ${OWNER}`);
    expect(await readCounts('demo-basic')).toEqual({
      'Profile.name': [1, 1],
      'Profile.user': [1, 1],
      'User.email': [1, 1],
    });
    expect(await readCounts(OWNER)).toEqual(await readCounts('client:demo-basic'));
  });

  it('counts pictures that are fetched by URL, once while the client caches them', async () => {
    const { data } = await service.query<{ user: { photo: string } }>(
      `{ user(user: {id: "${OWNER}"}) { photo } }`,
      { authorization: program },
    );
    const url = data?.user.photo ?? '';
    const etag = (await fetch(url)).headers.get('etag') ?? '';
    await fetch(url, { method: 'HEAD' });
    expect((await fetch(url, { headers: { 'if-none-match': etag } })).status).toBe(304);
    expect(await readCounts('signed-url')).toEqual({ 'User.photo': [1, 1] });
    expect((await readActors()).map((name) => name.split(':')[0])).toEqual([
      'service-account',
      'signed-url for ',
    ]);
  });

  it('keeps days for the configured time, and none if it is disabled', async () => {
    const days = [89, 90, 91].map((age) => dayOf(new Date(Date.now() - age * 86_400_000)));
    await dataSource.query(
      `insert into access_log select day, 'signed-url', '', 'User.photo', 1, 1 from unnest($1::date[]) day`,
      [days],
    );
    const readDays = async () =>
      (await listCounts(dataSource.getRepository(AccessLogEntity), ALL_DAYS)).map(({ day }) => day);
    await anotherLog().flush();
    expect(await readDays()).toEqual(days.slice(0, 2));

    // The clock of one process leaps ahead.
    jest.useFakeTimers({ now: Date.now() + 400 * 86_400_000, doNotFake: [...TIMERS] });
    await anotherLog().flush();
    jest.useRealTimers();
    expect(await readDays()).toEqual(days.slice(0, 2));

    const off = anotherLog(0);
    off.note(null, { fields: ['User.photo'], users: [1] });
    await off.flush();
    expect(await readDays()).toEqual([]);
  });
});

describe('a service that ends', () => {
  it('writes its pending counts', async () => {
    await sendRequest('{ user(user: {id: "ben"}) { id } }');
    await service.app.close();
    const afterwards = new DirectoryDataSource(service.config.database, ENTITIES);
    await afterwards.initialize();
    const rows = await afterwards.query<unknown[]>('select field, requests::int, users::int from access_log');
    await afterwards.destroy();
    expect(rows).toEqual([{ field: 'User.id', requests: 1, users: 1 }]);
  });
});
