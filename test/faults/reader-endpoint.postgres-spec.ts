import { Database } from '../../src/database/database.js';
import { MonotonicReader, directoryOf } from '../support/clients/monotonic-reader.js';
import { writeClients } from '../support/clients/clients.js';
import { dataOf, post, send } from '../support/clients/http.js';
import { stopFollowing } from '../support/clients/mirror.js';
import {
  administrate,
  pause,
  ReplicatedPostgres,
  resumeReplay,
} from '../support/servers/replicated-postgres.js';
import { TestService } from '../support/servers/service.js';
import { TwinService } from '../support/twin.js';

const NAME = '{ user(user: {id: "p1"}) { name } }';

let servers: ReplicatedPostgres;
/** Applies revisions. */
let service: TestService;
/** Another process on the same servers. */
let twin: TwinService;
let authorization: string;
let revision = 1;
const asked = jest.spyOn(Database.prototype, 'readAtEndpoint');

beforeAll(async () => {
  servers = await ReplicatedPostgres.start();
  const environment = {
    DATABASE_URL: servers.primary.url('directory'),
    DATABASE_READ_URL: servers.readUrl,
    // All data.
    RESPONSE_CACHE_MEGABYTES: '0',
    DATABASE_TIMEOUT_SECONDS: '5',
    AUTH_EMBEDDED_CLIENTS: writeClients([{ id: 'app', owner: 'p1' }]),
  };
  service = await TestService.start({ ldif: directoryOf(revision), environment, compared: false });
  await stopFollowing(service);
  twin = await TwinService.start(service, environment);
  authorization = await service.serviceAccount('read', 'directory');
});

afterAll(async () => {
  try {
    await twin.stop();
    await service.stop();
  } finally {
    await servers.stop();
  }
});

beforeEach(() => untilUsed());

async function untilUsed(): Promise<void> {
  for (const each of [service, twin])
    await service.until(async () => {
      const { number, byStandby } = await read(each);
      return number === revision && byStandby === 1;
    });
}

/** Number of answers that the standby gave and the process took. */
async function countTaken(): Promise<number> {
  const answers = await Promise.all(asked.mock.results.map(({ value }) => value as Promise<unknown>));
  return answers.filter((each) => each !== null).length;
}

/** The served revision, and the number of its statements that the standby answered. */
async function read(from: TestService | TwinService): Promise<{ number: number; byStandby: number }> {
  asked.mockClear();
  const query = '{ user(user: {id: "p1"}) { name groups(first: 1) { nodes { group { name } } } } }';
  const { body } = await post(from, { query }, { authorization });
  const numbers = new Set([...body.matchAll(/ of (\d+)"/g)].map(([, number]) => Number(number)));
  expect(numbers.size).toBe(1);
  return { number: [...numbers][0] ?? NaN, byStandby: await countTaken() };
}

async function apply(): Promise<void> {
  service.replaceDirectory(directoryOf(++revision));
  expect((await service.synchronize()).kind).toBe('applied');
}

describe('a standby at DATABASE_READ_URL', () => {
  it('serves all reads with a revision; all other statements go to the primary', async () => {
    asked.mockClear();
    const status = await post(service, { query: '{ directoryStatus { state } }' }, { authorization });
    expect(dataOf(status)).toEqual({ directoryStatus: { state: 'IDLE' } });
    expect(asked).not.toHaveBeenCalled();
    const unknown = '{ user(user: {id: "nobody"}) { name } }';
    expect((await post(service, { query: unknown }, { authorization })).body).toContain('NOT_FOUND');
    expect(asked).toHaveBeenCalledTimes(1);
  });

  it('that lags gives no answer, and causes no response of two revisions, or one that goes back', async () => {
    const [here, there] = [
      new MonotonicReader(service, authorization),
      new MonotonicReader(twin, authorization),
    ];
    try {
      for (let count = 0; count < 8; count++) {
        await pause(servers.standby);
        await apply();
        here.expect(revision);
        await service.until(() => Promise.resolve(there.newest === revision));
        await resumeReplay(servers.standby);
      }
    } finally {
      await Promise.all([here.end(), there.end()]);
    }
    for (const { problems, asked: count } of [here, there]) {
      expect(problems.slice(0, 3)).toEqual([]);
      expect(count).toBeGreaterThan(8);
    }
    await pause(servers.standby);
    await apply();
    // The process that applied it, immediately; the other one within a second at worst.
    expect(await read(service)).toEqual({ number: revision, byStandby: 0 });
    await service.until(async () => (await read(twin)).number === revision);
    expect(await read(twin)).toEqual({ number: revision, byStandby: 0 });
    await resumeReplay(servers.standby);
    await untilUsed();
  });

  it('that refuses, loses or hangs with connections costs no request', async () => {
    servers.proxy.refuse();
    servers.proxy.cut();
    expect(await read(service)).toEqual({ number: revision, byStandby: 0 });
    await apply();
    expect(await read(service)).toEqual({ number: revision, byStandby: 0 });
    servers.proxy.restore();
    await untilUsed();
    servers.standby.hang();
    try {
      expect(await read(service)).toEqual({ number: revision, byStandby: 0 });
    } finally {
      servers.standby.resume();
    }
    await untilUsed();
  });

  it('continues while the primary is stopped', async () => {
    const token = await service.accessToken('read', 'app');
    await servers.primary.kill();
    expect(dataOf(await post(service, { query: NAME }, { authorization: token }))).toEqual({
      user: { name: `p1 of ${revision}` },
    });
    await service.until(async () => (await send(service, { path: '/_readiness' })).status === 503);
    await servers.primary.start();
    await untilUsed();
  });

  it('with revisions that the primary never had gives no answer', async () => {
    await servers.standby.promote();
    for (const statement of [
      `insert into revisions (applied_at, users_deleted, groups_deleted, memberships_removed, confirmed)
        values (now(), 0, 0, 0, false)`,
      `update users set name = 'p1 of 9999' where id = 'p1'`,
      'update mirror_state set (revision, revision_uuid) = (select id, uuid from revisions order by id desc limit 1)',
    ])
      await administrate(servers.standby, 'directory', statement);
    for (let time = 0; time < 4; time++)
      expect(await read(service)).toEqual({ number: revision, byStandby: 0 });
    await apply();
    expect(await read(service)).toEqual({ number: revision, byStandby: 0 });
    await servers.replaceStandby();
    await untilUsed();
  });
});
