import { Database } from '../../src/database/database.js';
import { Revisions } from '../../src/database/revisions.js';
import { MonotonicReader, directoryOf } from '../support/clients/monotonic-reader.js';
import { post } from '../support/clients/http.js';
import { stopFollowing } from '../support/clients/mirror.js';
import { repetitions } from '../support/repetitions.js';
import { TestService } from '../support/servers/service.js';
import { TwinService } from '../support/twin.js';

const REVISIONS = repetitions({ usually: 20, long: 50 });

describe('the revision of a response', () => {
  /** Applies revisions. */
  let service: TestService;
  let twin: TwinService;
  /** The knowledge of another process on the same database. */
  let other: Revisions;

  beforeAll(async () => {
    service = await TestService.start({ ldif: directoryOf(1), compared: false });
    await stopFollowing(service);
    twin = await TwinService.start(service);
    other = twin.app.get(Revisions);
    await service.until(() => Promise.resolve(other.current?.number === 1));
  });

  afterAll(async () => {
    await twin.stop();
    await service.stop();
  });

  it('never goes back, and is the only one of a response, during concurrent changes', async () => {
    const authorization = await service.serviceAccount('read', 'directory');
    const [here, there] = [
      new MonotonicReader(service, authorization),
      new MonotonicReader(twin, authorization),
    ];
    try {
      for (let revision = 2; revision <= REVISIONS + 1; revision++) {
        service.replaceDirectory(directoryOf(revision));
        expect((await service.synchronize()).kind).toBe('applied');
        expect(service.app.get(Revisions).current?.number).toBe(revision);
        here.expect(revision);
        // Another process learns of it within a second, plus time for a busy machine.
        if (revision % 5 === 0) await service.until(() => Promise.resolve(there.newest === revision));
      }
      await service.until(() => Promise.resolve(there.newest === REVISIONS + 1));
    } finally {
      await Promise.all([here.end(), there.end()]);
    }
    for (const { problems, asked, unanswered, executions } of [here, there]) {
      expect(problems.slice(0, 3)).toEqual([]);
      // A response that was not executed comes from the cache.
      expect(asked - unanswered - executions.count).toBeGreaterThan(REVISIONS);
    }
  });

  it('is the only one of a response, even if the directory changes after each statement', async () => {
    const authorization = await service.serviceAccount('read', 'directory');
    const database = service.app.get(Database);
    const read = database.read.bind(database);
    let revision = REVISIONS + 1;
    let isChanging = false;
    const spy = jest.spyOn(database, 'read').mockImplementation(async (statement, values) => {
      const rows = await read(statement, values);
      // A synchronization reads, too.
      if (!isChanging) {
        isChanging = true;
        service.replaceDirectory(directoryOf(++revision));
        await service.synchronize();
        isChanging = false;
      }
      return rows;
    });
    try {
      const query = '{ users(first: 50) { nodes { name groups(first: 2) { nodes { group { name } } } } } }';
      const { status, body } = await post(service, { query }, { authorization });
      const names = [...body.matchAll(/ of (\d+)"/g)].map(([, number]) => number);
      expect([status, names.length, new Set(names).size]).toEqual([200, 90, 1]);
      // Statements of two revisions were read before it was repeated in a transaction.
      expect(spy.mock.calls.length).toBeGreaterThan(2);
    } finally {
      spy.mockRestore();
    }
    const { current } = service.app.get(Revisions);
    await service.until(() => Promise.resolve(other.current?.number === current?.number));
  });
});
