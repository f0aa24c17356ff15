import fc from 'fast-check';
import { DataSource } from 'typeorm';
import { buildLdif } from '../support/builders/directory.js';
import { type Listing, Listings, type RowFacts } from '../support/clients/listings.js';
import { pageQuery, readEnds, readListing, walk } from '../support/clients/pages.js';
import { randomDirectory } from '../support/builders/random-directory.js';
import { TestService } from '../support/servers/service.js';
import { statementsOf } from '../support/builders/statements.js';
import { repetitions } from '../support/repetitions.js';

/** Several users share one, and some have none. */
const FAMILY_NAMES = [
  'Berg',
  'berg',
  'Bérg',
  null,
  'Øz',
  'łuk',
  'Zoë Strauß',
  '李',
  'x'.repeat(300),
  'y'.repeat(300),
];
const CHOSEN = { person: 'ada.martin', group: 'g0' };

describe('a connection', () => {
  let service: TestService;
  let authorization: string;
  let listings: Listing[];

  beforeAll(async () => {
    const directory = randomDirectory(
      { people: repetitions({ usually: 120, long: 250 }), groups: 40 },
      20260301,
    );
    // The client of the sample acts for this user, who is in every third group.
    directory.people.push({ id: CHOSEN.person, name: 'Ada Martin', schoolYear: '1A' });
    directory.people.forEach((person, index) => {
      person.familyName = FAMILY_NAMES[index % FAMILY_NAMES.length] ?? null;
    });
    directory.groups.forEach((group, index) => {
      group.email = `${group.id}@Example.org`;
      if (index % 3 === 0) group.members?.push(CHOSEN.person);
    });
    service = await TestService.start({ ldif: buildLdif(directory.people, directory.groups) });
    authorization = await service.serviceAccount('read', 'directory');
    const model = new Listings(directory, await spreadUpdates(service), CHOSEN);
    listings = [...model.all(), ...(await listChanges(service))];
  });

  afterAll(() => service.stop());

  it('returns every row once and in order, forward in pages of any size', async () => {
    for (const [index, listing] of listings.entries()) {
      const { ids } = await walk(service, authorization, listing, sizeOf(index), 'forwards');
      expect({ ...listing, ids }).toEqual({ ...listing, ids: listing.expected });
    }
  });

  it('returns the same rows in the same order backward', async () => {
    for (const [index, listing] of listings.entries()) {
      const { ids } = await walk(service, authorization, listing, sizeOf(index + 1), 'backwards');
      expect({ ...listing, ids }).toEqual({ ...listing, ids: listing.expected });
    }
  });

  it('returns the rows between two cursors from either end, with correct page info', async () => {
    const cursors = new Map<Listing, string[]>();
    const end = fc.option(fc.double({ min: 0, max: 1, noNaN: true }), { nil: null, freq: 3 });
    const ranges = fc.record({
      listing: fc.constantFrom(...listings),
      between: fc.tuple(end, end),
      size: fc.integer({ min: 0, max: 100 }),
      small: fc.boolean(),
      from: fc.constantFrom('first' as const, 'last' as const),
    });
    await fc.assert(
      fc.asyncProperty(ranges, async ({ listing, between, size: drawn, small, from }) => {
        const all = listing.expected;
        const size = small ? drawn % 4 : drawn;
        if (!cursors.has(listing)) {
          cursors.set(listing, (await walk(service, authorization, listing, 100, 'forwards')).cursors);
        }
        const at = (place: number | null) => (place === null ? null : Math.floor(place * (all.length - 1)));
        const [one, other] = [at(between[0]), at(between[1])];
        const [after, before] =
          all.length < 2 || (one !== null && other !== null && one >= other) ? [null, null] : [one, other];
        const cursor = (index: number) => cursors.get(listing)?.[index] ?? '';

        const range = [
          `${from}: ${size}`,
          ...(after === null ? [] : [`after: "${cursor(after)}"`]),
          ...(before === null ? [] : [`before: "${cursor(before)}"`]),
        ].join(', ');
        const page = await readListing(service, authorization, listing, range);

        const [low, high] = [after === null ? 0 : after + 1, before ?? all.length];
        const [begin, stop] =
          from === 'first' ? [low, Math.min(high, low + size)] : [Math.max(low, high - size), high];
        expect(page).toEqual({
          ids: all.slice(begin, stop),
          cursors: cursors.get(listing)?.slice(begin, stop),
          hasPreviousPage: begin > 0,
          hasNextPage: stop < all.length,
          totalCount: all.length,
        });
        const ends = [page.cursors[0] ?? null, page.cursors.at(-1) ?? null];
        expect(await readEnds(service, authorization, listing, range)).toEqual(ends);
      }),
      { numRuns: repetitions({ usually: 30, long: 100 }) },
    );
  });

  it('counts and reads ahead only if the fields are selected', async () => {
    const counting = /count\(\*\)/;
    for (const listing of listings.filter(({ args }) => /search|role|origin|schoolYear/.test(args))) {
      const sendRequest = (selection: string) =>
        statementsOf(() => service.query(pageQuery(listing, 'first: 1', selection), { authorization }));
      const without = await sendRequest(`nodes { ${listing.node} }`);
      const counted = await sendRequest('totalCount');
      expect(without.filter(({ text }) => counting.test(text))).toEqual([]);
      const texts = new Set(counted.map(({ text }) => text));
      expect([...texts].filter((text) => counting.test(text))).toHaveLength(1);
    }
  });

  /** Rows of one revision have one instant: here they get several. */
  async function spreadUpdates({ app }: TestService): Promise<RowFacts> {
    const dataSource = app.get(DataSource);
    const facts = async (table: string) => {
      await dataSource.query(
        `update ${table} set updated_at = timestamptz '2026-02-03T04:05:06.789Z' + (key * 7919 % 11) * interval '1001 ms',
           created_at = timestamptz '2016-02-03T04:05:06.789Z' + (key * 7907 % 7) * interval '999 ms'`,
      );
      const rows: { id: string; key: number; updatedAt: Date; createdAt: Date }[] = await dataSource.query(
        `select id, key, updated_at as "updatedAt", created_at as "createdAt" from ${table}`,
      );
      return new Map(
        rows.map(({ id, key, updatedAt, createdAt }) => [
          id,
          { key, updatedAt: updatedAt.getTime(), createdAt: createdAt.getTime() },
        ]),
      );
    };
    return { users: await facts('users'), groups: await facts('groups') };
  }
});

/** The log by id, with its filters. */
async function listChanges({ app }: TestService): Promise<Listing[]> {
  const list = async (filter: string, condition: string): Promise<Listing> => {
    const rows: { id: string }[] = await app
      .get(DataSource)
      .query(`select id from changes where ${condition} order by id`);
    const expected = rows.map(({ id }) => id);
    return { parent: '%', field: 'changes', args: `filter: {${filter}}`, node: 'id', expected };
  };
  const { person, group } = CHOSEN;
  return [
    await list('kinds: [USER_CREATED]', 'kind = 1'),
    await list('kinds: [GROUP_CREATED, USER_DELETED, USER_CREATED]', 'kind in (1, 3, 4)'),
    await list(`group: {id: "${group}"}`, `group_id = '${group}'`),
    await list(
      `user: {id: "${person}"}, kinds: [MEMBER_ADDED, USER_UPDATED]`,
      `user_id = '${person}' and kind = 7`,
    ),
    await list('since: "2099-01-01T00:00:00Z"', 'false'),
  ];
}

/** Page sizes that do and do not divide the number of rows. */
function sizeOf(index: number): number {
  return [100, 37, 50, 99, 83][index % 5] ?? 100;
}
