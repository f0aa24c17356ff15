import { setTimeout as sleep } from 'node:timers/promises';
import { randomBytes } from 'node:crypto';
import { execFileSync } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { Logger } from '@nestjs/common';
import pg from 'pg';
import { Revisions } from '../../src/database/revisions.js';
import { MirrorState, SyncState } from '../../src/mirror/status/mirror-state.js';
import { writeClients } from '../support/clients/clients.js';
import { PICTURE, buildLdif } from '../support/builders/directory.js';
import { dataOf, type HttpAnswer, post, send } from '../support/clients/http.js';
import { giveToPostgres, startPostgres, type TestPostgres } from '../support/servers/postgres.mjs';
import { TestProxy } from '../support/servers/proxy.js';
import { eventually } from '../support/eventually.js';
import { TestService } from '../support/servers/service.js';
import { variable } from '../support/servers/store.js';

const BLOCK = Buffer.alloc(4096);

/** A file system of a few megabytes for PostgreSQL, which a test can fill. */
class SmallDisk {
  private constructor(readonly directory: string) {}

  /** @param parent directory of the mount point */
  static mount(parent: string, megabytes: number): SmallDisk {
    const directory = mkdtempSync(join(parent, 'disk-'));
    try {
      execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'tmpfs', directory], {
        stdio: 'pipe',
      });
    } catch (cause) {
      throw new Error(
        'A disk that is full takes a file system of its own: root must be let mount one (CAP_SYS_ADMIN)',
        { cause },
      );
    }
    giveToPostgres(directory);
    return new SmallDisk(directory);
  }

  /** Until no block is free. */
  fill(): void {
    const file = openSync(this.filler, 'w');
    try {
      for (;;) writeSync(file, BLOCK);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
    } finally {
      closeSync(file);
    }
  }

  free(): void {
    rmSync(this.filler, { force: true });
  }

  unmount(): void {
    // A lazy unmount: processes with open files keep them, and the unmount does not wait for them.
    execFileSync('umount', ['--lazy', this.directory]);
  }

  private get filler(): string {
    return join(this.directory, 'filler');
  }
}

/** Requires root. */
const canMount = process.getuid?.() === 0;

const CONNECTIONS = 20;

const PHOTO = '{ user(user: {id: "olga"}) { photo } }';

/** @param description the new description of the club */
const updateOf = (description: string) =>
  `mutation { updateGroup(input: {group: {id: "club"}, description: "${description}"}) { group { id } } }`;

let server: TestPostgres;
let disk: SmallDisk | null = null;
let noDisk: unknown = null;
let proxy: TestProxy;
let service: TestService;
/** A user's token, and a service account's, whose secret is read with each request. */
let bearer: string;
let basic: string;
/** The URL of a photo. */
let photoPath: string;
let revision = 0;
const logged = jest.spyOn(Logger.prototype, 'log');
const loggedErrors = jest.spyOn(Logger.prototype, 'error');
const WAITS = /^Synchronization waits for the database: /;
const lasting = (text: string) => expect.stringMatching(new RegExp(`^${text} after \\d+ s$`)) as string;

function directoryOf(number: number, description = 'Go'): string {
  return buildLdif(
    [{ id: 'olga', name: `Olga of ${number}`, photo: PICTURE }],
    [{ id: 'club', members: ['olga'], owners: ['olga'], description }],
  );
}

beforeAll(async () => {
  const work = variable('TEST_WORK_DIRECTORY');
  server = await startPostgres(join(work, 'faulty-postgres'), {
    max_connections: CONNECTIONS,
    // Committed data must survive a crash.
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
      DATABASE_TIMEOUT_SECONDS: '2',
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

function restore(): void {
  server.resume();
  proxy.restore();
  disk?.free();
}

/** The state of one test must not affect the next one. */
afterEach(restore);

afterAll(async () => {
  try {
    await service.stop();
    await proxy.stop();
    await server.stop();
  } finally {
    disk?.unmount();
  }
});

/** Directly on the server, without the proxy. */
/** @returns the rows of the last statement */
async function administrate(...statements: string[]): Promise<object[]> {
  const client = new pg.Client(server.url('postgres'));
  await client.connect();
  let rows: object[] = [];
  for (const statement of statements) ({ rows } = await client.query<object>(statement));
  await client.end();
  return rows;
}

let asked = 0;
/** A query that is not cached. */
const read = (authorization: string) =>
  post(service, { query: `{ a${++asked}: user(user: {id: "olga"}) { name } }` }, { authorization });
const preview = (description = 'Chess') =>
  post(service, { query: updateOf(description) }, { authorization: bearer });
/** A query that is cached. */
const readAgain = () => post(service, { query: PHOTO }, { authorization: bearer });
const seePhoto = () => send(service, { path: photoPath });
const readiness = () => send(service, { path: '/_readiness' });

/** The test restores the database after this response, so that the service does not wait for the database. */
async function expectRefused(work: () => Promise<HttpAnswer>): Promise<void> {
  const answer = await work();
  expect([answer.status, answer.body]).toEqual([503, expect.stringContaining('SERVICE_UNAVAILABLE')]);
  expect(answer.headers['retry-after']).toMatch(/^[1-9]\d*$/);
  expect(answer.body).not.toMatch(/ECONN|terminated|127\.0\.0\.1/);
}

async function expectNotReady(): Promise<void> {
  // The result of the last check is used for a fifth of a second.
  let answer = await readiness();
  await service.until(async () => (answer = await readiness()).status !== 200);
  const { error } = JSON.parse(answer.body) as { error: Record<string, unknown> };
  expect([answer.status, Object.keys(error)]).toEqual([503, ['database']]);
}

async function expectHealthy(): Promise<void> {
  for (let time = 0; time < 5; time++) {
    expect((await send(service, { path: '/_health' })).status).toBe(200);
    expect((await post(service, { query: '{ buildInfo { version } }' })).status).toBe(200);
  }
}

/** All kinds of requests at once, immediately after the fault. */
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

/** After the fault is known: also cached responses and pictures. */
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

/** The revision that is served. */
async function servedTo(authorization: string): Promise<number> {
  const { status, body } = await read(authorization);
  return status === 200 ? Number(/Olga of (\d+)/.exec(body)?.[1]) : NaN;
}

/** Readers, previews, and the mirror, which applies changes made in the meantime. */
async function expectBack(): Promise<void> {
  await service.until(async () => {
    const [{ status }, { status: previewed }, { status: seen }, { status: again }, ...served] =
      await Promise.all([readiness(), preview(), seePhoto(), readAgain(), servedTo(bearer), servedTo(basic)]);
    const statuses = [status, previewed, seen, again];
    return statuses.every((each) => each === 200) && served.every((number) => number === revision);
  });
}

const statusOf = () => service.app.get(MirrorState).get();
const changeDirectory = () => service.replaceDirectory(directoryOf(++revision));

describe('a PostgreSQL that', () => {
  it.each<[fault: string, areLost: boolean, strike: () => void]>([
    ['refuses connections', true, () => proxy.refuse()],
    ['resets connections', true, () => proxy.reset()],
    ['hangs', false, () => server.hang()],
    ['disappears silently', true, () => proxy.freeze()],
    ['is too slow', false, () => proxy.slow(5000)],
  ])('%s causes 503 in time, and everything recovers in time', async (_, areLost, strike) => {
    strike();
    changeDirectory();
    await expectAway();
    // Existing connections.
    if (areLost) proxy.cut();
    restore();
    await expectBack();
  });

  it('is slow is not taken for one that hangs, although it accepts new connections too late', async () => {
    const statuses = new Set<number>();
    proxy.slow(350);
    try {
      // Cached responses send no statement: only the query of each second notices the fault.
      for (let time = 0; time < 100; time++) {
        statuses.add((await readAgain()).status);
        await sleep(50);
      }
    } finally {
      restore();
    }
    expect([...statuses]).toEqual([200]);
    await expectBack();
  });

  it('is killed and restarted keeps every served revision', async () => {
    const revisions = service.app.get(Revisions);
    for (let kill = 0; kill < 2; kill++) {
      changeDirectory();
      await service.until(async () => (await servedTo(bearer)) === revision);
      const served = revisions.current?.number ?? 0;
      changeDirectory();
      await server.kill();
      await expectAway();
      // The synchronization tries to connect each second: a shorter fault is none for it.
      const hasNoted = () => loggedErrors.mock.calls.some(([text]) => WAITS.test(String(text)));
      await service.until(() => Promise.resolve(hasNoted()));
      await server.start();
      await service.until(async () => !Number.isNaN(await servedTo(basic)));
      expect(await servedTo(basic)).toBeGreaterThanOrEqual(revision - 1);
      await expectBack();
      expect(revisions.current?.number ?? 0).toBeGreaterThan(served);
    }
    expect(logged).toHaveBeenCalledWith(lasting('The database is reachable again'));
  });

  it('becomes read-only is read, and follows the directory when it is writable', async () => {
    const setting = 'default_transaction_read_only';
    const before = revision;
    await administrate(`alter system set ${setting} = on`, 'select pg_reload_conf()');
    // The server reads its settings some time after the signal.
    await eventually(() => administrate(`show ${setting}`), [{ [setting]: 'on' }]);
    try {
      changeDirectory();
      await expectRefused(() => preview());
      expect([await servedTo(bearer), (await readiness()).status]).toEqual([before, 200]);
    } finally {
      await administrate(`set ${setting} = off`, `alter system reset ${setting}`, 'select pg_reload_conf()');
    }
    await expectBack();
  });

  it('has no connection left causes 503, and recovers when it has', async () => {
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
    proxy.restore();
    changeDirectory();
    await expectAway();
    await Promise.all(others.map((client) => client.end()));
    await expectBack();
  });

  const itWithDisk = canMount ? it : it.skip;
  itWithDisk('has a full disk is read, and loses nothing', async () => {
    if (disk === null) throw noDisk;
    disk.fill();
    const before = revision;
    // New pages are necessary, because free space in existing ones would be used first.
    const large = randomBytes(4500).toString('hex');
    try {
      await Promise.all([expectRefused(() => preview(large)), expectHealthy()]);
      service.replaceDirectory(directoryOf(++revision, large));
      await service.until(async () => (await statusOf()).state === SyncState.FAILING);
      expect((await statusOf()).reason).toContain('The log of the service has the reason');
      expect(loggedErrors.mock.calls.flat()).toContainEqual(
        expect.stringMatching(
          /^Synchronization fails, and the mirror stays unchanged: .*No space left on device/,
        ),
      );
      expect([await servedTo(bearer), (await readiness()).status]).toEqual([before, 200]);
    } finally {
      disk.free();
    }
    await expectBack();
    expect((await statusOf()).state).toBe(SyncState.IDLE);
  });
});
