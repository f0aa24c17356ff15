/** @isolated The suite fakes the clock. */
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { followChanges, readChanges } from '../support/clients/changes.js';
import { buildLdif } from '../support/builders/directory.js';
import { stopFollowing } from '../support/clients/mirror.js';
import { startPostgres, type TestPostgres } from '../support/servers/postgres.mjs';
import { administrate } from '../support/servers/replicated-postgres.js';
import { TestService } from '../support/servers/service.js';
import { variable } from '../support/servers/store.js';
import { TIMERS } from '../support/timers.js';
import { findFaketime } from '../support/servers/system-packages.mjs';

const DAY = 86_400_000;

describe('the log of changes with a wrong clock', () => {
  let server: TestPostgres;
  let clock: string;
  let service: TestService;
  let authorization: string;
  const people = ['anna'];

  beforeAll(async () => {
    const directory = join(variable('TEST_WORK_DIRECTORY'), 'clock-postgres');
    clock = join(variable('TEST_WORK_DIRECTORY'), 'clock-of-postgres');
    setServerClock(0);
    chmodSync(clock, 0o644);
    server = await startPostgres(
      directory,
      { shared_buffers: '16MB' },
      {
        LD_PRELOAD: findFaketime() ?? '',
        FAKETIME_TIMESTAMP_FILE: clock,
        FAKETIME_NO_CACHE: '1',
        FAKETIME_DONT_FAKE_MONOTONIC: '1',
      },
    );
    await administrate(server, 'postgres', 'create database directory');
    service = await TestService.start({
      ldif: ldif(),
      logged: true,
      environment: { DATABASE_URL: server.url('directory') },
    });
    await stopFollowing(service);
    authorization = await service.serviceAccount('directory');
  });

  afterAll(async () => {
    jest.useRealTimers();
    await service.stop();
    await server.stop();
  });

  afterEach(() => {
    setServerClock(0);
    jest.useRealTimers();
  });

  function ldif(): string {
    return buildLdif(people.map((id) => ({ id })));
  }

  /** Offset of the database server's clock, in days. */
  function setServerClock(days: number): void {
    writeFileSync(clock, days < 0 ? `${days}d` : `+${days}d`);
  }

  /** Offset of this process's clock, in days. */
  function setOwnClock(days: number): void {
    jest.useFakeTimers({ now: Date.now() + days * DAY, doNotFake: [...TIMERS] });
  }

  async function add(): Promise<void> {
    people.push(`p${people.length}`);
    service.replaceDirectory(ldif());
    expect((await service.synchronize()).kind).toBe('applied');
  }

  /** The log as a client reads it. */
  async function readLog(): Promise<{ ids: unknown[]; instants: number[] }> {
    const { changes } = await followChanges(service, authorization, null);
    return {
      ids: changes.map(({ userId }) => userId),
      instants: changes.map(({ at }) => Date.parse(at)),
    };
  }

  /** All changes are present, in the order of their instants, which are close to the true time. */
  async function expectWhole(): Promise<void> {
    const { ids, instants } = await readLog();
    expect(ids).toEqual(people);
    expect(instants).toEqual(instants.toSorted((left, right) => left - right));
    const now = Date.now();
    for (const instant of instants) expect(Math.abs(now - instant)).toBeLessThan(DAY / 24);
  }

  it.each([40, -40])(
    'has no gap if the clock of the process is off by %d days for one revision',
    async (days) => {
      const { pageInfo } = await readChanges(service, authorization, 'last: 1');
      const since = new Date(Date.now() - 60_000).toISOString();
      setOwnClock(days);
      await add();
      const wrong = await readChanges(
        service,
        authorization,
        `first: 9, after: "${pageInfo.endCursor ?? ''}"`,
      );
      expect(wrong.nodes.map(({ userId }) => userId)).toEqual(people.slice(-1));
      jest.useRealTimers();
      await expectWhole();
      await add();
      await expectWhole();
      const filtered = await readChanges(service, authorization, `first: 100, filter: {since: "${since}"}`);
      expect(filtered.nodes.map(({ userId }) => userId)).toEqual(people);
    },
  );

  it.each([40, -40])(
    'has no gap if the clock of the database is off by %d days for one revision',
    async (days) => {
      const before = new Date(Date.now() - 60_000).toISOString();
      const { pageInfo } = await readChanges(service, authorization, 'last: 1');
      setServerClock(days);
      await add();
      await service.synchronize();
      // While the clock is wrong, no change is lost and new ones can be read.
      expect((await readLog()).ids).toEqual(people);
      const news = await readChanges(
        service,
        authorization,
        `first: 9, after: "${pageInfo.endCursor ?? ''}"`,
      );
      expect(news.nodes.map(({ userId }) => userId)).toEqual(people.slice(-1));
      setServerClock(0);
      await add();
      await expectWhole();
      // A client that asks for changes since its last request finds them.
      const filtered = await readChanges(service, authorization, `first: 100, filter: {since: "${before}"}`);
      expect(filtered.nodes.map(({ userId }) => userId)).toEqual(people);
      await add();
      await expectWhole();
    },
  );
});
