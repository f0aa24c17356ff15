import { DataSource } from 'typeorm';
import { buildLdif } from '../support/builders/directory.js';
import { stopFollowing } from '../support/clients/mirror.js';
import { TestService } from '../support/servers/service.js';

const ldifOf = (count: number) =>
  buildLdif(Array.from({ length: count }, (_, index) => ({ id: `person.${index}` })));

describe('the statistics of PostgreSQL', () => {
  const service = TestService.forSuite(() => ({ ldif: ldifOf(10) }));

  beforeAll(async () => {
    await stopFollowing(service);
    await service.app.get(DataSource).query('alter table users set (autovacuum_enabled = false)');
  });

  /** @returns the number of users by the statistics, after a revision */
  async function grow(count: number): Promise<number | undefined> {
    service.replaceDirectory(ldifOf(count));
    expect((await service.synchronize()).kind).toBe('applied');
    const [row]: { reltuples: number }[] = await service.app
      .get(DataSource)
      .query(`select reltuples from pg_class where oid = 'users'::regclass`);
    return row?.reltuples;
  }

  it('are updated with a revision that changes a large part of the directory', async () => {
    expect(await grow(1100)).toBe(1100);
  });

  it('are left to autovacuum after a small part: readers wait for the revision', async () => {
    await service.app
      .get(DataSource)
      .query(`update pg_class set reltuples = 100000 where oid = 'users'::regclass`);
    expect(await grow(2200)).toBe(100_000);
  });
});
