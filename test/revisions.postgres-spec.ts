import pg from 'pg';
import { Database } from '../src/database/database.js';
import { Revisions } from '../src/database/revisions.js';
import { buildLdif } from './support/directory.js';
import { takeOver } from './support/mirror.js';
import { TestService } from './support/service.js';

const people = (...ids: string[]) => buildLdif(ids.map((id) => ({ id })));

describe('the revision that is read', () => {
  let service: TestService;
  /** What another process on the same database knows. */
  let other: Revisions;

  beforeAll(async () => {
    service = await TestService.start({ ldif: people('anna') });
    other = new Revisions(service.config, service.app.get(Database));
    await other.onModuleInit();
    await service.until(() => Promise.resolve(other.current === 1));
  });

  afterAll(async () => {
    await other.onModuleDestroy();
    await service.stop();
  });

  it('is known at once where it is applied, and within a second elsewhere', async () => {
    await takeOver(service, people('anna', 'ben'));
    expect(service.app.get(Revisions).current).toBe(2);
    await service.until(() => Promise.resolve(other.current === 2), 1000);
  });

  it('is not known while it changes', async () => {
    let finish: (revision: number) => void = () => undefined;
    const changed = other.change(() => new Promise<number>((resolve) => (finish = resolve)));
    expect(other.current).toBeNull();
    finish(2);
    expect(await changed).toBe(2);
    expect(other.current).toBe(2);
  });

  it('is not known without the database, and is again when that is back', async () => {
    const { database } = service.config;
    if (database.kind !== 'postgres') throw new Error('This is for a server');
    const client = new pg.Client(database.url);
    await client.connect();
    await client.query(
      `select pg_terminate_backend(pid) from pg_stat_activity
       where datname = current_database() and query in ('listen directory_revision', 'select revision from mirror_state')
         and pid <> pg_backend_pid()`,
    );
    await client.end();
    await service.until(() => Promise.resolve(other.current === null), 2000);
    await service.until(() => Promise.resolve(other.current === 2), 5000);
  });
});
