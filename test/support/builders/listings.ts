import type { DataSource } from 'typeorm';
import { fold } from '../../../src/common/fold.js';
import type { ExpectedList } from './expected-operation.js';
import type { RandomDirectory } from './random-directory.js';
import { heldRoles, namedBy, ROLES } from './role-model.js';

/** A connection with its arguments, and the expected ids in order. */
export type Listing = Pick<ExpectedList, 'parent' | 'field' | 'args' | 'node' | 'expected'>;

/** A user or a group; groups have no family name and no year. */
interface Row {
  readonly kind: 'USER' | 'GROUP';
  readonly id: string;
  readonly name: string;
  readonly familyName: string;
  readonly year: string;
  /** The order of rows with equal names. */
  readonly key: number;
  readonly updatedAt: number;
  readonly createdAt: number;
}

type Place = (string | number)[];
type Filter = [text: string, holds: (row: Row) => boolean];
/** The second place is ascending in both directions. */
type Order = [field: string, place: (row: Row) => Place, second?: (row: Row) => Place];

const byName = (row: Row): Place => [sortName(row.name), row.key];
const byFamily = (row: Row): Place => [sortName(row.familyName), ...byName(row)];
const byTime =
  (time: 'createdAt' | 'updatedAt') =>
  (row: Row): Place => [row[time], row.key];
const matching = (text: string): Filter => [
  `search: "${text}"`,
  (row) => searchText(row).includes(text.toLowerCase()),
];

/** Every connection in every order and with every filter, computed from the whole directory. */
export async function listAll(
  directory: RandomDirectory,
  dataSource: DataSource,
  chosen: { person: string; group: string },
): Promise<Listing[]> {
  const users = await readRows(dataSource, 'USER', directory.people);
  const groups = await readRows(dataSource, 'GROUP', directory.groups);
  const roles = heldRoles(directory.groups);
  const roleIn = (group: string, person: string) => roles.get(group)?.get(person);
  const rank = (group: string, person: string) => ROLES.indexOf(roleIn(group, person)?.value as never);
  const insideOf = new Map(directory.groups.map((each) => [each.id, namedBy(each, 'groups')]));
  const isInside = (id: string) => [...insideOf.values()].some((inner) => inner.has(id));
  const { person, group } = chosen;
  const middle = ([...rows]: Row[]) =>
    rows.sort((a, b) => a.updatedAt - b.updatedAt)[rows.length >> 1]?.updatedAt ?? 0;
  const [usersSince, groupsSince] = [middle(users), middle(groups)];

  /** @param rankOf the role in the connection, as a number */
  const memberships = (
    rows: Row[],
    rankOf: (row: Row) => number,
    direct: (row: Row) => boolean,
    more: Filter[],
  ) =>
    combine(
      rows,
      [
        ['', () => true],
        ['role: {is: ADMIN}', (row) => rankOf(row) >= 1],
        ['role: {is: ADMIN, strict: true}', (row) => rankOf(row) === 1],
        ['origin: DIRECT', direct],
        ['origin: NESTED', (row) => !direct(row)],
        matching('An'),
        ...more,
      ],
      [
        ['NAME', byName],
        ['FAMILY_NAME', byFamily],
        ['CREATED_AT', byTime('createdAt')],
        ['ROLE', (row) => [rankOf(row)], byName],
      ],
    );
  const inGroup = `group(group: {id: "${group}"}) { % }`;
  return [
    ...combine(
      users,
      [
        ['', () => true],
        matching('AN'),
        matching('berg'),
        ['schoolYear: "1A"', ({ year }) => year === '1a'],
        ['schoolYear: ""', () => false],
        [`memberOf: {id: "${group}"}`, ({ id }) => rank(group, id) >= 0],
        [`memberOf: {id: "${group}"}, role: {is: ADMIN}`, ({ id }) => rank(group, id) >= 1],
        [`updatedSince: "${new Date(usersSince).toISOString()}"`, (row) => row.updatedAt >= usersSince],
      ],
      [
        ['NAME', byName],
        ['SCHOOL_YEAR', (row) => [row.year, ...byName(row)]],
        ['FAMILY_NAME', byFamily],
        ['CREATED_AT', byTime('createdAt')],
        ['UPDATED_AT', byTime('updatedAt')],
      ],
    ).map((listing) => ({ ...listing, parent: '%', field: 'users', node: 'id' })),
    ...combine(
      groups,
      [
        ['', () => true],
        ['isRoot: true', ({ id }) => !isInside(id)],
        ['isRoot: false', ({ id }) => isInside(id)],
        ['ids: ["g1", "G2", "g3", "g7", "unknown"]', ({ id }) => ['g1', 'g2', 'g3', 'g7'].includes(id)],
        ['emails: ["g1@EXAMPLE.org", "g4@example.org", "x"]', ({ id }) => ['g1', 'g4'].includes(id)],
        ['ids: ["g1", "g2"], emails: ["g2@example.org", "g3@example.org"]', ({ id }) => id === 'g2'],
        [
          `updatedSince: "${new Date(groupsSince).toISOString()}", isRoot: true`,
          (row) => row.updatedAt >= groupsSince && !isInside(row.id),
        ],
        matching('anna'),
        [`parent: {id: "${group}"}`, ({ id }) => insideOf.get(group)?.has(id) === true],
        [`hasMember: {id: "${person}"}`, ({ id }) => rank(id, person) >= 0],
        [
          `hasMember: {id: "${person}"}, role: {is: MEMBER, strict: true}`,
          ({ id }) => rank(id, person) === 0,
        ],
      ],
      [
        ['NAME', byName],
        ['MEMBER_COUNT', ({ id }) => [roles.get(id)?.size ?? 0], byName],
        ['UPDATED_AT', byTime('updatedAt')],
      ],
    ).map((listing) => ({ ...listing, parent: '%', field: 'groups', node: 'id' })),
    ...memberships(
      users.filter(({ id }) => rank(group, id) >= 0),
      ({ id }) => rank(group, id),
      ({ id }) => roleIn(group, id)?.direct !== null,
      [['schoolYear: "1A"', ({ year }) => year === '1a']],
    ).map((listing) => ({ ...listing, parent: inGroup, field: 'members', node: 'user { id }' })),
    ...memberships(
      groups.filter(({ id }) => rank(id, person) >= 0),
      ({ id }) => rank(id, person),
      ({ id }) => roleIn(id, person)?.direct !== null,
      [],
    ).map((listing) => ({
      ...listing,
      parent: `user(user: {id: "${person}"}) { % }`,
      field: 'groups',
      node: 'group { id }',
    })),
    ...(
      [
        ['parents', ({ id }) => insideOf.get(id)?.has(group) === true],
        ['subgroups', ({ id }) => insideOf.get(group)?.has(id) === true],
      ] satisfies Filter[]
    ).map(([field, holds]) => {
      const expected = sort(groups.filter(holds), byName);
      return { parent: inGroup, field, args: '', node: 'id', expected };
    }),
    ...['p1', 'anna', 'berg', 'er', 'zz'].flatMap((query) => {
      const found = [...users, ...groups].filter(matching(query)[1]);
      const place = (row: Row) => [
        distance(row, query),
        sortName(row.name),
        row.kind === 'USER' ? 0 : 1,
        row.key,
      ];
      return ([['USER', 'GROUP'], ['USER'], ['GROUP'], []] satisfies Row['kind'][][]).map(
        (kinds: Row['kind'][]) => ({
          parent: '%',
          field: 'search',
          args: `query: "${query}"${kinds.length === 2 ? '' : `, kinds: [${kinds.join()}]`}`,
          node: '... on User { id } ... on Group { id }',
          expected: sort(
            found.filter(({ kind }) => kinds.includes(kind)),
            place,
          ),
        }),
      );
    }),
  ];
}

function combine(rows: Row[], filters: Filter[], orders: Order[]): Pick<Listing, 'args' | 'expected'>[] {
  return filters.flatMap(([filter, holds]) =>
    orders.flatMap(([field, place, second]) =>
      ([1, -1] as const).map((sign) => ({
        args: `filter: {${filter}}, orderBy: {field: ${field}, direction: ${sign === 1 ? 'ASC' : 'DESC'}}`,
        expected: sort(rows.filter(holds), place, sign, second),
      })),
    ),
  );
}

/** Rows of one revision have one instant: here they get several. */
async function readRows(
  dataSource: DataSource,
  kind: Row['kind'],
  all: { id: string; name?: string; familyName?: string | null; schoolYear?: string }[],
): Promise<Row[]> {
  const table = `${kind.toLowerCase()}s`;
  await dataSource.query(
    `update ${table} set updated_at = timestamptz '2026-02-03T04:05:06.789Z' + (key * 7919 % 11) * interval '1001 ms',
       created_at = timestamptz '2016-02-03T04:05:06.789Z' + (key * 7907 % 7) * interval '999 ms'`,
  );
  const stored: { id: string; key: number; updatedAt: Date; createdAt: Date }[] = await dataSource.query(
    `select id, key, updated_at as "updatedAt", created_at as "createdAt" from ${table}`,
  );
  const byId = new Map(stored.map((row) => [row.id, row]));
  return all.map(({ id, name = id, familyName, schoolYear = '' }) => ({
    kind,
    id,
    name,
    familyName: kind === 'USER' ? (familyName ?? '') : name,
    // The years of the random directory need no other preparation (RFC 4518).
    year: schoolYear.toLowerCase(),
    key: byId.get(id)?.key ?? 0,
    updatedAt: byId.get(id)?.updatedAt.getTime() ?? 0,
    createdAt: byId.get(id)?.createdAt.getTime() ?? 0,
  }));
}

function sortName(name: string): string {
  return [...fold(name).trim()].slice(0, 256).join('');
}

/** Quotation marks separate words. */
function searchText({ kind, id, name, familyName }: Row): string {
  return [id, name, kind === 'USER' ? familyName : '']
    .map((text) => ` ${fold(text).replaceAll('"', ' ').trim()}`)
    .join('');
}

function distance(row: Row, query: string): number {
  const name = sortName(row.name);
  if (row.id === query) return 0;
  if (name === query) return 1;
  if (name.startsWith(query)) return 2;
  return searchText(row).includes(` ${query}`) ? 3 : 5;
}

function sort(
  rows: Row[],
  place: (row: Row) => Place,
  sign = 1,
  second: (row: Row) => Place = () => [],
): string[] {
  return [...rows]
    .sort((one, other) => sign * compare(place(one), place(other)) || compare(second(one), second(other)))
    .map(({ id }) => id);
}

/** Compares texts byte by byte, like the database; the order of UTF-16 differs. */
function compare(left: Place, right: Place): number {
  for (const [index, value] of left.entries()) {
    const other = right[index] ?? '';
    const difference =
      typeof value === 'number' && typeof other === 'number'
        ? value - other
        : Buffer.compare(Buffer.from(String(value)), Buffer.from(String(other)));
    if (difference !== 0) return difference;
  }
  return 0;
}
