import { setTimeout as sleep } from 'node:timers/promises';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import pg from 'pg';
import sharp from 'sharp';
import { Revisions } from '../../src/database/revisions/revisions.js';
import { writeClients } from '../support/clients/clients.js';
import { buildLdif } from '../support/builders/directory.js';
import { dataOf, type HttpAnswer, post, send } from '../support/clients/http.js';
import { startPostgres, type TestPostgres } from '../support/servers/postgres.mjs';
import { TestProxy } from '../support/servers/proxy.js';
import { TestService } from '../support/servers/service.js';
import { canMount, SmallDisk } from '../support/servers/small-disk.js';
import { variable } from '../support/servers/store.js';

const CONNECTIONS = 20;

const PHOTO = '{ user(user: {id: "olga"}) { photo } }';

/** @param description of the club, as it is to be */
const updateOf = (description: string) =>
  `mutation { updateGroup(input: {group: {id: "club"}, description: "${description}"}) { group { id } } }`;

let server: TestPostgres;
let disk: SmallDisk | null = null;
let noDisk: unknown = null;
let proxy: TestProxy;
let service: TestService;
/** Of the person, and of a program, whose secret is looked up with each request. */
let bearer: string;
let basic: string;
let photo: Buffer;
/** Where it is, as it was told. */
let photoPath: string;
let revision = 0;

function directoryOf(number: number): string {
  return buildLdif(
    [{ id: 'olga', name: `Olga of ${number}`, photo }],
    [{ id: 'club', members: ['olga'], owners: ['olga'] }],
  );
}

beforeAll(async () => {
  photo = await sharp({ create: { width: 8, height: 8, channels: 3, background: 'teal' } })
    .jpeg()
    .toBuffer();
  const work = variable('TEST_WORK_DIRECTORY');
  server = await startPostgres(join(work, 'faulty-postgres'), {
    max_connections: CONNECTIONS,
    // What is committed has to be there after a crash.
    synchronous_commit: 'on',
    shared_buffers: '16MB',
  });
  if (canMount) {
    try {
      disk = SmallDisk.mount(work, 48);
      await administrate(`create tablespace small location '${disk.directory}'`);
    } catch (error) {
      noDisk = error;
    }
  }
  await administrate(`create database directory ${disk === null ? '' : 'tablespace small'}`);
  proxy = await TestProxy.start({ host: '127.0.0.1', port: server.port });
  service = await TestService.start({
    ldif: directoryOf(revision),
    environment: {
      DATABASE_URL: `postgres://postgres@127.0.0.1:${proxy.port}/directory`,
      AUTH_EMBEDDED_CLIENTS: writeClients([{ id: 'app', owner: 'olga' }]),
    },
    compared: false,
  });
  bearer = await service.accessToken('profile read write', 'app');
  basic = await service.serviceAccount('read');
  for (let time = 0; time < 3; time++) await readAgain();
  const { photo: url } = (dataOf(await readAgain()) as { user: { photo: string } }).user;
  photoPath = url.slice(service.url.length);
  expect((await seePhoto()).status).toBe(200);
});

function mend(): void {
  server.goOn();
  proxy.mend();
  disk?.free();
}

/** Whatever a test leaves behind is not for the next one. */
afterEach(mend);

afterAll(async () => {
  try {
    await service.stop();
    await proxy.stop();
    await server.stop();
  } finally {
    disk?.unmount();
  }
});

/** On the server itself, past the proxy. */
async function administrate(...statements: string[]): Promise<void> {
  const client = new pg.Client(server.url('postgres'));
  await client.connect();
  for (const statement of statements) await client.query(statement);
  await client.end();
}

let asked = 0;
/** What nobody has asked before, so that no answer is remembered. */
const read = (authorization: string) =>
  post(service, { query: `{ a${++asked}: user(user: {id: "olga"}) { name } }` }, { authorization });
const preview = (description = 'Chess') =>
  post(service, { query: updateOf(description) }, { authorization: bearer });
/** What everybody asks, so that its answer is remembered. */
const readAgain = () => post(service, { query: PHOTO }, { authorization: bearer });
const seePhoto = () => send(service, { path: photoPath });
const readiness = () => send(service, { path: '/_readiness' });

/** The database is mended by the test only after this answer: so the service does not wait for the database to come back. */
async function expectRefused(work: () => Promise<HttpAnswer>): Promise<void> {
  const answer = await work();
  expect([answer.status, answer.body]).toEqual([503, expect.stringContaining('SERVICE_UNAVAILABLE')]);
  expect(answer.headers['retry-after']).toMatch(/^[1-9]\d*$/);
}

async function expectNotReady(): Promise<void> {
  const answer = await readiness();
  const { error } = JSON.parse(answer.body) as { error: Record<string, unknown> };
  expect([answer.status, Object.keys(error)]).toEqual([503, ['database']]);
}

async function expectHealthy(): Promise<void> {
  for (let time = 0; time < 5; time++) {
    expect((await send(service, { path: '/_health' })).status).toBe(200);
  }
}

/** Everything at once, as soon as it is broken. */
async function expectAway(): Promise<void> {
  await Promise.all([
    expectRefused(() => read(bearer)),
    expectRefused(() => read(basic)),
    expectRefused(() => preview()),
    expectNotReady(),
    expectHealthy(),
  ]);
  await expectKnownAway();
}

/** Once it is known: also of what is remembered, and of pictures. */
async function expectKnownAway(): Promise<void> {
  await Promise.all([
    expectRefused(() => read(bearer)),
    expectRefused(() => read(basic)),
    expectRefused(readAgain),
    expectRefused(seePhoto),
    expectRefused(() => preview()),
    expectNotReady(),
    expectHealthy(),
  ]);
}

/** What the server still answers is not asked for any more, as soon as it has been told that it takes no writes. */
async function expectNoReader(): Promise<void> {
  await service.until(async () => (await read(bearer)).status === 503);
}

/** The number of the directory that is served. */
async function servedTo(authorization: string): Promise<number> {
  const { status, body } = await read(authorization);
  return status === 200 ? Number(/Olga of (\d+)/.exec(body)?.[1]) : NaN;
}

/** Readers, previews and the mirror, which takes over what the directory has become meanwhile. */
async function expectBack(): Promise<void> {
  await service.until(async () => {
    const [{ status }, { status: previewed }, { status: seen }, { status: again }, ...served] =
      await Promise.all([readiness(), preview(), seePhoto(), readAgain(), servedTo(bearer), servedTo(basic)]);
    const statuses = [status, previewed, seen, again];
    return statuses.every((each) => each === 200) && served.every((number) => number === revision);
  });
}

const changeDirectory = () => {
  service.replaceDirectory(directoryOf(++revision));
};

describe('a PostgreSQL that', () => {
  it.each<[fault: string, areLost: boolean, strike: () => void]>([
    [
      'refuses connections',
      true,
      () => {
        proxy.refuse();
      },
    ],
    [
      'resets connections',
      true,
      () => {
        proxy.reset();
      },
    ],
    [
      'hangs',
      false,
      () => {
        server.hang();
      },
    ],
    [
      'has vanished without a word',
      true,
      () => {
        proxy.freeze();
      },
    ],
    [
      'answers far too slowly',
      false,
      () => {
        proxy.slow(1500);
      },
    ],
  ])('%s is told by 503 in time, and everything is back in time', async (_, areLost, strike) => {
    strike();
    changeDirectory();
    await expectAway();
    // The connections of before.
    if (areLost) proxy.cut();
    mend();
    await expectBack();
  });

  it('answers late is not taken for one that hangs, although it accepts new connections too late', async () => {
    const statuses = new Set<number>();
    proxy.slow(350);
    try {
      // Answers that are remembered send no statement: only the heartbeat finds out about the server.
      for (let time = 0; time < 100; time++) {
        statuses.add((await readAgain()).status);
        await sleep(50);
      }
    } finally {
      mend();
    }
    expect([...statuses]).toEqual([200]);
    await expectBack();
  });

  it('is killed and started again keeps every revision that was served', async () => {
    const revisions = service.app.get(Revisions);
    for (let kill = 0; kill < 2; kill++) {
      changeDirectory();
      await service.until(async () => (await servedTo(bearer)) === revision);
      const served = revisions.current?.number ?? 0;
      changeDirectory();
      await server.kill();
      await expectAway();
      await server.start();
      await service.until(async () => !Number.isNaN(await servedTo(basic)));
      expect(await servedTo(basic)).toBeGreaterThanOrEqual(revision - 1);
      await expectBack();
      expect(revisions.current?.number ?? 0).toBeGreaterThan(served);
    }
  });

  it('can only be read is away for everybody, and back as soon as it can be written', async () => {
    const setting = 'default_transaction_read_only';
    await administrate(`alter system set ${setting} = on`, 'select pg_reload_conf()');
    try {
      await expectNoReader();
      await expectKnownAway();
      changeDirectory();
    } finally {
      await administrate(`set ${setting} = off`, `alter system reset ${setting}`, 'select pg_reload_conf()');
    }
    await expectBack();
  });

  it('has no connection left is told by 503, and serves as soon as it has', async () => {
    proxy.refuse();
    const others: pg.Client[] = [];
    for (let full = false; !full;) {
      const client = new pg.Client(server.url('postgres'));
      client.on('error', () => undefined);
      full = await client.connect().then(
        () => false,
        () => true,
      );
      if (!full) others.push(client);
    }
    expect(others.length).toBeGreaterThan(CONNECTIONS / 2);
    proxy.mend();
    changeDirectory();
    await expectAway();
    await Promise.all(others.map((client) => client.end()));
    await expectBack();
  });

  const itWithDisk = canMount ? it : it.skip;
  if (!canMount) console.warn('A disk that is full is not tried: only root can mount one');
  itWithDisk('has no room left is away for everybody, and loses nothing', async () => {
    if (disk === null) throw noDisk;
    disk.fill();
    // It has to be stored apart, where nothing has been stored yet.
    const large = randomBytes(4500).toString('hex');
    try {
      await Promise.all([expectRefused(() => preview(large)), expectNotReady(), expectHealthy()]);
      await expectNoReader();
      await expectKnownAway();
      changeDirectory();
    } finally {
      disk.free();
    }
    await expectBack();
  });
});
