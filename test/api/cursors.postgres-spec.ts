import fc from 'fast-check';
import { Database } from '../../src/database/database.js';
import { buildLdif, type TestGroup, type TestPerson } from '../support/builders/directory.js';
import { TestService } from '../support/servers/service.js';
import { repetitions } from '../support/repetitions.js';

const PEOPLE: TestPerson[] = Array.from({ length: 120 }, (_, index) => ({
  id: `p${index}`,
  name: `Person ${String(index).padStart(3, '0')}`,
}));
const GROUPS: TestGroup[] = [
  { id: 'all', members: PEOPLE.map(({ id }) => id) },
  { id: 'inner', name: 'All inside', members: ['@all'] },
  { id: 'outer', members: ['@inner'] },
];

/** Connections: a document that selects one with these arguments, and another order or filter. */
const CONNECTIONS: Record<string, (args: string) => string> = {
  users: (args) => `{ page: users(${args}) { edges { cursor } } }`,
  'users by school year': (args) =>
    `{ page: users(${args}, orderBy: {field: SCHOOL_YEAR}) { edges { cursor } } }`,
  'users by update': (args) => `{ page: users(${args}, orderBy: {field: UPDATED_AT}) { edges { cursor } } }`,
  'users from the other end': (args) =>
    `{ page: users(${args}, orderBy: {direction: DESC}) { edges { cursor } } }`,
  'some users': (args) => `{ page: users(${args}, filter: {search: "person"}) { edges { cursor } } }`,
  groups: (args) => `{ page: groups(${args}) { edges { cursor } } }`,
  'groups by size': (args) =>
    `{ page: groups(${args}, orderBy: {field: MEMBER_COUNT}) { edges { cursor } } }`,
  members: (args) => `{ group(group: {id: "all"}) { page: members(${args}) { edges { cursor } } } }`,
  'members by role': (args) =>
    `{ group(group: {id: "all"}) { page: members(${args}, orderBy: {field: ROLE}) { edges { cursor } } } }`,
  'members of another group': (args) =>
    `{ group(group: {id: "inner"}) { page: members(${args}) { edges { cursor } } } }`,
  'groups of a person': (args) => `{ user(user: {id: "p1"}) { page: groups(${args}) { edges { cursor } } } }`,
  'groups of another person': (args) =>
    `{ user(user: {id: "p2"}) { page: groups(${args}) { edges { cursor } } } }`,
  parents: (args) => `{ group(group: {id: "all"}) { page: parents(${args}) { edges { cursor } } } }`,
  'parents of another group': (args) =>
    `{ group(group: {id: "inner"}) { page: parents(${args}) { edges { cursor } } } }`,
  subgroups: (args) => `{ group(group: {id: "inner"}) { page: subgroups(${args}) { edges { cursor } } } }`,
  changes: (args) => `{ page: changes(${args}) { edges { cursor } } }`,
  'a search': (args) => `{ page: search(query: "person", ${args}) { edges { cursor } } }`,
  'another search': (args) => `{ page: search(query: "perso", ${args}) { edges { cursor } } }`,
};
const NAMES = Object.keys(CONNECTIONS);

describe('a cursor', () => {
  const service = TestService.forSuite({ ldif: buildLdif(PEOPLE, GROUPS), logged: true });
  let authorization: string;

  beforeAll(async () => {
    authorization = await service.serviceAccount('read', 'directory');
  });

  it.each(NAMES)('of %s is rejected by every other connection, object, order and filter', async (name) => {
    const cursor = await firstCursor(name);
    for (const other of NAMES) {
      expect([other, await codesOf(other, 'after', cursor)]).toEqual([
        other,
        other === name ? [] : ['INVALID_CURSOR'],
      ]);
    }
  });

  it.each(NAMES)('of %s has the number of its row sealed, and none is accepted that is not', async (name) => {
    const cursor = await firstCursor(name);
    const parts = valuesOf(cursor);
    const place = name === 'changes' ? -2 : -1;
    expect(parts.at(place)).toMatch(/^[\w-]{22}$/);
    const forged = Buffer.from(JSON.stringify(parts.with(place, 1))).toString('base64url');
    expect(await codesOf(name, 'after', forged)).toEqual(['INVALID_CURSOR']);
  });

  it('is rejected if it is truncated, changed or invented', async () => {
    const cursor = await firstCursor('users');
    const odd = [
      '',
      ' ',
      'null',
      '0',
      'W10',
      'bnVsbA',
      `${cursor}=`,
      ` ${cursor}`,
      cursor.slice(0, -2),
      'é',
      'a'.repeat(5000),
    ];
    for (const garbage of odd) {
      for (const end of ['after', 'before'] as const)
        expect([garbage, await codesOf('users', end, garbage)]).toEqual([garbage, ['INVALID_CURSOR']]);
    }
  });

  it('that is forged with any content returns a page or an error, and has no other effect', async () => {
    const { seal } = service.app.get(Database);
    const bindings = new Map<string, [binding: string, parent: number]>();
    for (const name of NAMES) {
      const cursor = await firstCursor(name);
      const binding = bindingOf(cursor);
      const parents = valuesOf(cursor).flatMap((each) => seal.open(each, binding)?.slice(1) ?? []);
      bindings.set(name, [binding, parents[0] ?? 0]);
    }
    const value = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 20 }),
      fc.integer(),
      fc.constantFrom(
        ...[
          Number.MAX_SAFE_INTEGER,
          -Number.MAX_SAFE_INTEGER,
          1e300,
          2 ** 31,
          2 ** 63,
          -1,
          0.5,
          '\0',
          '\ud800',
          '9'.repeat(400),
        ],
        ...[null, true, [], {}, '2026-01-01', "'; drop table users; --"],
      ),
    );
    const forgeries = fc.record({
      name: fc.constantFrom(...NAMES),
      values: fc.array(value, { maxLength: 5 }),
      /** Sealed in place of the value at this index, so that other parts are read. */
      number: fc.maxSafeInteger(),
      index: fc.nat(5),
      end: fc.constantFrom('after' as const, 'before' as const),
    });
    await fc.assert(
      fc.asyncProperty(forgeries, async ({ name, values, number, index, end }) => {
        const [binding, parent] = bindings.get(name) ?? ['', 0];
        const parts = values.map((each, at) =>
          at === index ? seal.seal([number], binding, parent).join() : each,
        );
        const forged = Buffer.from(JSON.stringify([binding, ...parts])).toString('base64url');
        const codes = await codesOf(name, end, forged);
        expect([[], ['INVALID_CURSOR'], ['CHANGE_CURSOR_EXPIRED']]).toContainEqual(codes);
      }),
      { numRuns: repetitions({ usually: 40, long: 120 }) },
    );
  });

  it.each([
    ['users', ['Person 050', 4_000_000_000]],
    ['users by update', [8.64e15, 1]],
    ['users by update', [-8.64e15, -5]],
    ['users by update', [Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER]],
    ['groups by size', [-Number.MAX_SAFE_INTEGER, 'a', 1]],
  ])('of %s can have a position without a row: %j', async (name, values) => {
    const binding = bindingOf(await firstCursor(name));
    const sealed = service.app.get(Database).seal.seal([Number(values.at(-1))], binding);
    const place = [binding, ...values.slice(0, -1), ...sealed];
    const forged = Buffer.from(JSON.stringify(place)).toString('base64url');
    expect(await codesOf(name, 'after', forged)).toEqual([]);
  });

  async function firstCursor(name: string): Promise<string> {
    const { data } = await service.query(documentOf(name, 'first: 1'), { authorization });
    const [, cursor] = /"cursor":"([^"]+)"/.exec(JSON.stringify(data)) ?? [];
    if (cursor === undefined) throw new Error(`There is nothing in ${name}`);
    return cursor;
  }

  async function codesOf(name: string, end: 'after' | 'before', cursor: string): Promise<string[]> {
    const size = end === 'after' ? 'first: 1' : 'last: 1';
    const { status, errors } = await service.query(
      documentOf(name, `${size}, ${end}: $cursor`).replace('{', 'query ($cursor: String) {'),
      { authorization, variables: { cursor } },
    );
    expect(status).toBe(200);
    for (const { extensions } of errors) expect(extensions['argument']).toBe(end);
    return errors.map(({ extensions }) => extensions.code);
  }
});

describe('reading pages while rows change', () => {
  const service = TestService.forSuite({
    ldif: buildLdif(PEOPLE, GROUPS),
    environment: { DIRECTORY_GUARD_PERCENT: '100' },
  });
  let authorization: string;

  beforeAll(async () => {
    authorization = await service.serviceAccount('read', 'directory');
  });

  it.each([
    { direction: 'forwards', size: 'first', bound: 'after', cursor: 'endCursor', more: 'hasNextPage' },
    { direction: 'backwards', size: 'last', bound: 'before', cursor: 'startCursor', more: 'hasPreviousPage' },
  ])(
    'neither repeats nor skips a row that stays, $direction',
    async ({ direction, size, bound, cursor, more }) => {
      const seen: string[] = [];
      const gone = new Set<string>();
      let people = PEOPLE;
      let end = '';
      for (let page = 0; ; page++) {
        const { group } = await service.read<{ group: { members: MembersPage } }>(
          `{ group(group: {id: "all"}) { members(${size}: 25${end}) { nodes { user { id } } pageInfo { ${cursor} ${more} } } } }`,
          { authorization },
        );
        const { nodes, pageInfo } = group.members;
        seen.push(...nodes.map(({ user }) => user.id));
        if (pageInfo[more] !== true) break;
        end = `, ${bound}: "${String(pageInfo[cursor])}"`;
        if (page > 1) continue;
        // The row of the cursor is deleted, and a row is added on each side of it.
        const last = seen.at(-1) ?? '';
        gone.add(last);
        people = people.filter(({ id }) => id !== last);
        people = [
          ...people,
          { id: `early-${direction}-${page}`, name: `Person 000 ${page}` },
          { id: `late-${direction}-${page}`, name: `Person 118 ${page}` },
        ];
        await replace(people);
      }
      expect(new Set(seen).size).toBe(seen.length);
      expect(seen).toEqual(expect.arrayContaining(PEOPLE.map(({ id }) => id).filter((id) => !gone.has(id))));
    },
  );

  interface MembersPage {
    nodes: { user: { id: string } }[];
    pageInfo: Record<string, unknown>;
  }

  async function replace(people: TestPerson[]): Promise<void> {
    const groups = [{ id: 'all', members: people.map(({ id }) => id) }];
    service.replaceDirectory(buildLdif(people, [...groups, ...GROUPS.slice(1)]));
    await service.until(async () => {
      const { data } = await service.query<{ users: { nodes: { id: string }[] } }>(
        '{ users(first: 5, filter: {search: "person"}, orderBy: {field: UPDATED_AT, direction: DESC}) { nodes { id } } }',
        { authorization },
      );
      return people.slice(-2).every((each) => data?.users.nodes.some(({ id }) => id === each.id) ?? false);
    });
  }
});

function documentOf(name: string, args: string): string {
  const document = CONNECTIONS[name];
  if (document === undefined) throw new Error(`There is no connection ${name}`);
  return document(args);
}

function valuesOf(cursor: string): unknown[] {
  return JSON.parse(Buffer.from(cursor, 'base64url').toString()) as unknown[];
}

function bindingOf(cursor: string): string {
  return String(valuesOf(cursor)[0]);
}
