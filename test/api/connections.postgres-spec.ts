import fc from 'fast-check';
import { DataSource } from 'typeorm';
import { fold } from '../../src/common/fold.js';
import { buildLdif } from '../support/builders/directory.js';
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

/** An element with the values that orders depend on. Those of a membership are on two levels. */
type Node = Readonly<Record<string, string | null | Readonly<Record<string, string | number | null>>>>;

/** A connection with its arguments. Which elements a filter selects is tested with the rules of visibility. */
interface Listing {
  readonly parent: string;
  readonly field: string;
  readonly args: string;
  readonly node: string;
  /** The value that the order is by; null: another one. */
  readonly valueOf: ((node: Node) => string | number | undefined) | null;
  /** Of the last value first. */
  readonly isDescending: boolean;
}

const entryOf = (node: Node) => (node['user'] ?? node['group'] ?? node) as Record<string, string | null>;
const textOf = (name: string) => (node: Node) => {
  const { [name]: text, name: instead } = entryOf(node);
  const shown = text === undefined ? instead : text;
  return [...fold(shown ?? '').trim()].slice(0, 256).join('');
};
const timeOf = (name: string) => (node: Node) => Date.parse(entryOf(node)[name] ?? '');
const yearOf = (node: Node) => entryOf(node)['schoolYear']?.toLowerCase() ?? '';
const memberOf = (name: string) => (node: Node) => (node[name] as Record<string, string | number>)['value'];
const rankOf = (node: Node) => ['MEMBER', 'ADMIN', 'OWNER'].indexOf(String(memberOf('role')(node)));

const IN_GROUP = `group(group: {id: "${CHOSEN.group}"}) { % }`;
const OF_PERSON = `user(user: {id: "${CHOSEN.person}"}) { % }`;
const OF_MEMBERSHIPS: [string, Listing['valueOf']][] = [
  ['NAME', textOf('name')],
  ['FAMILY_NAME', textOf('familyName')],
  ['CREATED_AT', timeOf('createdAt')],
  ['ROLE', rankOf],
];
const LISTINGS: Listing[] = [
  ...listingsOf(
    '%',
    'users',
    'id name familyName schoolYear createdAt updatedAt',
    ['', 'search: "berg"'],
    [
      ['NAME', textOf('name')],
      ['SCHOOL_YEAR', yearOf],
      ['FAMILY_NAME', textOf('familyName')],
      ['CREATED_AT', timeOf('createdAt')],
      ['UPDATED_AT', timeOf('updatedAt')],
    ],
  ),
  ...listingsOf(
    '%',
    'groups',
    'id name updatedAt members(first: 0) { value: totalCount }',
    ['', 'isRoot: false'],
    [
      ['NAME', textOf('name')],
      ['MEMBER_COUNT', memberOf('members')],
      ['UPDATED_AT', timeOf('updatedAt')],
    ],
  ),
  ...listingsOf(
    IN_GROUP,
    'members',
    'user { id name familyName createdAt } role { value }',
    ['', 'origin: NESTED'],
    OF_MEMBERSHIPS,
  ),
  ...listingsOf(
    OF_PERSON,
    'groups',
    'group { id name createdAt } role { value }',
    ['', 'role: {is: ADMIN}'],
    OF_MEMBERSHIPS,
  ),
  ...[
    [IN_GROUP, 'parents', '', 'id'],
    [IN_GROUP, 'subgroups', '', 'id'],
    ['%', 'changes', 'filter: {kinds: [GROUP_CREATED, USER_CREATED]}', 'id'],
    ['%', 'search', 'query: "berg", kinds: [USER]', '... on User { id }'],
    ['%', 'search', 'query: "er"', '... on User { id } ... on Group { id }'],
  ].map(([parent = '', field = '', args = '', node = '']) => ({
    ...{ parent, field, args, node, valueOf: null, isDescending: false },
  })),
];

interface Page {
  ids: string[];
  cursors: string[];
  hasNextPage: boolean;
  hasPreviousPage: boolean;
  totalCount: number;
}

interface Connection extends Pick<Page, 'totalCount'> {
  nodes: Node[];
  edges: { cursor: string; node: Node }[];
  pageInfo: Pick<Page, 'hasNextPage' | 'hasPreviousPage'> &
    Record<'startCursor' | 'endCursor', string | null>;
}

describe('a connection', () => {
  let service: TestService;
  let authorization: string;
  /** All pages of each. */
  const known = new Map<Listing, Page & { nodes: Node[] }>();

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
    service = await TestService.start({ ldif, compared: false, logged: true });
    authorization = await service.serviceAccount('read', 'directory');
    // Rows of one revision have one instant: here they get several.
    for (const table of ['users', 'groups'])
      await service.app.get(DataSource).query(
        `update ${table} set updated_at = timestamptz '2026-02-03T04:05:06.789Z' + (key * 7919 % 11) * interval '1001 ms',
           created_at = timestamptz '2016-02-03T04:05:06.789Z' + (key * 7907 % 7) * interval '999 ms'`,
      );
    for (const listing of LISTINGS) known.set(listing, await walk(listing, 100, 'forward'));
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
  async function readPage(listing: Listing, range: string): Promise<Page & { nodes: Node[] }> {
    const { totalCount, nodes, edges, pageInfo } = await read(listing, range);
    const cursors = edges.map(({ cursor }) => cursor);
    expect(edges.map(({ node }) => node)).toEqual(nodes);
    const { startCursor, endCursor, ...others } = pageInfo;
    expect([startCursor, endCursor]).toEqual([cursors[0] ?? null, cursors.at(-1) ?? null]);
    return { ids: nodes.map((node) => entryOf(node)['id'] ?? ''), nodes, cursors, totalCount, ...others };
  }

  async function walk(listing: Listing, size: number, direction: 'forward' | 'backward') {
    const pages: (Page & { nodes: Node[] })[] = [];
    const [first, after, place] =
      direction === 'forward' ? (['first', 'after', -1] as const) : (['last', 'before', 0] as const);
    for (let bound: string | undefined; ;) {
      const page = await readPage(
        listing,
        `${first}: ${size} ${bound === undefined ? '' : `${after}: "${bound}"`}`,
      );
      const { hasNextPage: next, hasPreviousPage: previous } = page;
      const [isMore, isBehind] = direction === 'forward' ? [next, previous] : [previous, next];
      expect(isBehind).toBe(bound !== undefined);
      if (direction === 'forward') pages.push(page);
      else pages.unshift(page);
      if (!isMore) break;
      bound = page.cursors.at(place);
    }
    const [{ totalCount } = { totalCount: 0 }] = pages;
    return {
      ...{ totalCount, hasNextPage: false, hasPreviousPage: false },
      ids: pages.flatMap(({ ids }) => ids),
      nodes: pages.flatMap(({ nodes }) => nodes),
      cursors: pages.flatMap(({ cursors }) => cursors),
    };
  }

  function allOf(listing: Listing) {
    const all = known.get(listing);
    if (all === undefined) throw new Error('It is not read');
    return all;
  }

  it.each(['forward', 'backward'] as const)(
    'returns every row once and in order, %s in pages of any size',
    async (direction) => {
      for (const [index, listing] of LISTINGS.entries()) {
        const { nodes, ...all } = allOf(listing);
        const size = SIZES[(index + (direction === 'forward' ? 0 : 1)) % SIZES.length] ?? 0;
        const { nodes: _, ...found } = await walk(listing, size, direction);
        expect({ listing, ...found }).toEqual({ listing, ...all });
        expect([listing, new Set(all.ids).size]).toEqual([listing, all.totalCount]);
        const { valueOf, isDescending } = listing;
        if (valueOf === null) continue;
        const values = nodes.map(valueOf);
        if (isDescending) values.reverse();
        expect({ listing, values }).toEqual({ listing, values: [...values].sort(compare) });
      }
    },
  );

  it('returns the rows between two cursors from either end, with correct page info', async () => {
    const end = fc.option(fc.double({ min: 0, max: 1, noNaN: true }), { nil: null, freq: 3 });
    const ranges = fc.record({
      listing: fc.constantFrom(...LISTINGS),
      between: fc.tuple(end, end),
      size: fc.oneof(fc.nat(3), fc.nat(100)),
      from: fc.constantFrom('first' as const, 'last' as const),
    });
    await fc.assert(
      fc.asyncProperty(ranges, async ({ listing, between, size, from }) => {
        const { ids: all, cursors } = allOf(listing);
        const at = (place: number | null) => (place === null ? null : Math.floor(place * (all.length - 1)));
        const [one, other] = [at(between[0]), at(between[1])];
        const [after, before] =
          all.length < 2 || (one !== null && other !== null && one >= other) ? [null, null] : [one, other];
        const range = [
          `${from}: ${size}`,
          after === null ? '' : `after: "${cursors[after] ?? ''}"`,
          before === null ? '' : `before: "${cursors[before] ?? ''}"`,
        ].join(' ');
        const { nodes: _, ...page } = await readPage(listing, range);

        const [low, high] = [after === null ? 0 : after + 1, before ?? all.length];
        const [begin, stop] =
          from === 'first' ? [low, Math.min(high, low + size)] : [Math.max(low, high - size), high];
        expect(page).toEqual({
          ids: all.slice(begin, stop),
          cursors: cursors.slice(begin, stop),
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
    for (const listing of LISTINGS.filter(({ args }) => /search|role|origin/.test(args))) {
      expect(await countsOf(listing, `nodes { ${listing.node} }`)).toBe(0);
      expect(await countsOf(listing, 'totalCount')).toBe(1);
    }
  });
});

/** With each filter, in each order and direction. */
function listingsOf(
  parent: string,
  field: string,
  node: string,
  filters: string[],
  orders: [string, Listing['valueOf']][],
): Listing[] {
  return filters.flatMap((filter) =>
    orders.flatMap(([order, valueOf]) =>
      [false, true].map((isDescending) => {
        const by = `{field: ${order}, direction: ${isDescending ? 'DESC' : 'ASC'}}`;
        return { parent, field, node, args: `filter: {${filter}}, orderBy: ${by}`, valueOf, isDescending };
      }),
    ),
  );
}

/** Compares texts byte by byte, like the database; the order of UTF-16 differs. */
function compare(left: string | number | undefined, right: string | number | undefined): number {
  if (typeof left === 'number' && typeof right === 'number') return left - right;
  return Buffer.compare(Buffer.from(String(left)), Buffer.from(String(right)));
}
