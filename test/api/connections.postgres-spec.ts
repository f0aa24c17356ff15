import fc from 'fast-check';
import { DataSource } from 'typeorm';
import { buildLdif } from '../support/builders/directory.js';
import { listAll, type Listing } from '../support/builders/listings.js';
import { randomDirectory } from '../support/builders/random-directory.js';
import { statementsOf } from '../support/builders/statements.js';
import { repetitions } from '../support/repetitions.js';
import { TestService } from '../support/servers/service.js';

/** Several users share one, and some have none. */
const FAMILY_NAMES = [
  ...['Berg', 'berg', 'Bérg', null, 'Øz', 'łuk', 'Zoë Strauß', '李'],
  ...['x'.repeat(300), 'y'.repeat(300)],
];
const CHOSEN = { person: 'ada.martin', group: 'g0' };
/** Page sizes that do and do not divide the number of rows. */
const SIZES = [100, 37, 50, 99, 83];

interface Page {
  ids: string[];
  cursors: string[];
  hasNextPage: boolean;
  hasPreviousPage: boolean;
  totalCount: number;
}

/** A connection with nodes of any type. */
interface Connection extends Pick<Page, 'totalCount'> {
  nodes: object[];
  edges: { cursor: string; node: object }[];
  pageInfo: Pick<Page, 'hasNextPage' | 'hasPreviousPage'> &
    Record<'startCursor' | 'endCursor', string | null>;
}

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
    const ldif = buildLdif(directory.people, directory.groups);
    service = await TestService.start({ ldif, compared: false });
    authorization = await service.serviceAccount('read', 'directory');
    const dataSource = service.app.get(DataSource);
    listings = [...(await listAll(directory, dataSource, CHOSEN)), ...(await listChanges(dataSource))];
  });

  afterAll(() => service.stop());

  const queryOf = ({ parent, field, args, node }: Listing, range: string, selection?: string) =>
    `{ ${parent.replace(
      '%',
      `page: ${field}(${range} ${args}) { ${
        selection ??
        `totalCount nodes { ${node} } edges { cursor node { ${node} } }
         pageInfo { hasNextPage hasPreviousPage startCursor endCursor }`
      } }`,
    )} }`;

  const read = async (listing: Listing, range: string, selection?: string): Promise<Connection> => {
    const data = await service.read<{ page?: Connection; parent?: { page: Connection } }>(
      queryOf(listing, range, selection),
      { authorization },
    );
    return data.page ?? (Object.values(data)[0] as { page: Connection }).page;
  };

  /** Reads a range, and checks the properties of every page. */
  async function readPage(listing: Listing, range: string): Promise<Page> {
    const { totalCount, nodes, edges, pageInfo } = await read(listing, range);
    const cursors = edges.map(({ cursor }) => cursor);
    expect(edges.map(({ node }) => node)).toEqual(nodes);
    const { startCursor, endCursor, ...others } = pageInfo;
    expect([startCursor, endCursor]).toEqual([cursors[0] ?? null, cursors.at(-1) ?? null]);
    return { ids: nodes.map(idOf), cursors, totalCount, ...others };
  }

  async function walk(listing: Listing, size: number, direction: 'forward' | 'backward') {
    const pages: Page[] = [];
    const [first, after, place] =
      direction === 'forward' ? (['first', 'after', -1] as const) : (['last', 'before', 0] as const);
    for (let bound: string | undefined; ;) {
      const page = await readPage(
        listing,
        `${first}: ${size} ${bound === undefined ? '' : `${after}: "${bound}"`}`,
      );
      const { hasNextPage: next, hasPreviousPage: previous, totalCount } = page;
      const [isMore, isBehind] = direction === 'forward' ? [next, previous] : [previous, next];
      expect([totalCount, isBehind]).toEqual([listing.expected.length, bound !== undefined]);
      if (direction === 'forward') pages.push(page);
      else pages.unshift(page);
      if (!isMore) break;
      bound = page.cursors.at(place);
    }
    return { ids: pages.flatMap(({ ids }) => ids), cursors: pages.flatMap(({ cursors }) => cursors) };
  }

  it.each(['forward', 'backward'] as const)(
    'returns every row once and in order, %s in pages of any size',
    async (direction) => {
      for (const [index, listing] of listings.entries()) {
        const size = SIZES[(index + (direction === 'forward' ? 0 : 1)) % SIZES.length] ?? 0;
        const { ids } = await walk(listing, size, direction);
        expect({ ...listing, ids }).toEqual({ ...listing, ids: listing.expected });
      }
    },
  );

  it('returns the rows between two cursors from either end, with correct page info', async () => {
    const cursors = new Map<Listing, string[]>();
    const end = fc.option(fc.double({ min: 0, max: 1, noNaN: true }), { nil: null, freq: 3 });
    const ranges = fc.record({
      listing: fc.constantFrom(...listings),
      between: fc.tuple(end, end),
      size: fc.oneof(fc.nat(3), fc.nat(100)),
      from: fc.constantFrom('first' as const, 'last' as const),
    });
    await fc.assert(
      fc.asyncProperty(ranges, async ({ listing, between, size, from }) => {
        const all = listing.expected;
        const known = cursors.get(listing) ?? (await walk(listing, 100, 'forward')).cursors;
        cursors.set(listing, known);
        const at = (place: number | null) => (place === null ? null : Math.floor(place * (all.length - 1)));
        const [one, other] = [at(between[0]), at(between[1])];
        const [after, before] =
          all.length < 2 || (one !== null && other !== null && one >= other) ? [null, null] : [one, other];
        const range = [
          `${from}: ${size}`,
          after === null ? '' : `after: "${known[after] ?? ''}"`,
          before === null ? '' : `before: "${known[before] ?? ''}"`,
        ].join(' ');
        const page = await readPage(listing, range);

        const [low, high] = [after === null ? 0 : after + 1, before ?? all.length];
        const [begin, stop] =
          from === 'first' ? [low, Math.min(high, low + size)] : [Math.max(low, high - size), high];
        expect(page).toEqual({
          ids: all.slice(begin, stop),
          cursors: known.slice(begin, stop),
          hasPreviousPage: begin > 0,
          hasNextPage: stop < all.length,
          totalCount: all.length,
        });
        // The cursors alone have a query of their own.
        const { pageInfo } = await read(listing, range, 'pageInfo { startCursor endCursor }');
        expect(Object.values(pageInfo)).toEqual([page.cursors[0] ?? null, page.cursors.at(-1) ?? null]);
      }),
      { numRuns: repetitions({ usually: 30, long: 100 }) },
    );
  });

  it('counts and reads ahead only if the fields are selected', async () => {
    const countsOf = async (listing: Listing, selection: string) => {
      const statements = await statementsOf(() => read(listing, 'first: 1', selection));
      return new Set(statements.map(({ text }) => text).filter((text) => text.includes('count(*)'))).size;
    };
    for (const listing of listings.filter(({ args }) => /search|role|origin|schoolYear/.test(args))) {
      expect(await countsOf(listing, `nodes { ${listing.node} }`)).toBe(0);
      expect(await countsOf(listing, 'totalCount')).toBe(1);
    }
  });
});

/** The log by id, with its filters. */
async function listChanges(dataSource: DataSource): Promise<Listing[]> {
  const { person, group } = CHOSEN;
  const cases = [
    ['kinds: [USER_CREATED]', 'kind = 1'],
    ['kinds: [GROUP_CREATED, USER_DELETED, USER_CREATED]', 'kind in (1, 3, 4)'],
    [`group: {id: "${group}"}`, `group_id = '${group}'`],
    [`user: {id: "${person}"}, kinds: [MEMBER_ADDED, USER_UPDATED]`, `user_id = '${person}' and kind = 7`],
    ['since: "2099-01-01T00:00:00Z"', 'false'],
    ['kinds: []', 'false'],
  ];
  return Promise.all(
    cases.map(async ([filter = '', condition = '']) => {
      const rows: { id: string }[] = await dataSource.query(
        `select id from changes where ${condition} order by id`,
      );
      const expected = rows.map(({ id }) => id);
      return { parent: '%', field: 'changes', args: `filter: {${filter}}`, node: 'id', expected };
    }),
  );
}

function idOf(node: object): string {
  const [value] = Object.values(node) as unknown[];
  return typeof value === 'string' ? value : idOf(value as object);
}
