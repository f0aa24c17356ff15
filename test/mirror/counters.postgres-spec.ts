import { DataSource } from 'typeorm';
import { buildLdif } from '../support/builders/directory.js';
import { stopFollowing } from '../support/clients/mirror.js';
import { TestService } from '../support/servers/service.js';

const people = Array.from({ length: 400 }, (_, index) => ({ id: `person.${index}` }));
/** Few on each page of the table. */
const joining = people.map(({ id }) => id).filter((_, index) => index % 25 === 7);

const READ_PAGES = `
  select id, group_count as count, (ctid::text::point)[0] as page from users where group_count > $1 order by id`;

describe('the counters of users', () => {
  const service = TestService.forSuite(() => ({ ldif: buildLdif(people) }));

  beforeAll(() => stopFollowing(service));

  it('change on the page of the user, which has free space: its indexes are not written', async () => {
    const { manager } = service.app.get(DataSource);
    const before: { id: string; page: number }[] = await manager.query(READ_PAGES, [-1]);
    service.replaceDirectory(buildLdif(people, [{ id: 'joined', members: joining }]));
    expect((await service.synchronize()).kind).toBe('applied');
    const after: { id: string; page: number }[] = await manager.query(READ_PAGES, [0]);
    expect(after.map(({ id }) => id)).toEqual([...joining].sort());
    const pages = new Map(before.map(({ id, page }) => [id, page]));
    expect(after.filter(({ id, page }) => pages.get(id) !== page)).toEqual([]);
  });
});
