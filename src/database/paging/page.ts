import { type CursorValue, foreignCursor, type KeySeal } from '../../common/cursor.js';
import type { PageArguments, PageSelection } from '../../common/page.js';
import { type Reader, REVISION, type Statement, statement, type Values } from '../statements/statement.js';

type SortDirection = 'ASC' | 'DESC';

/** A column by which pages are ordered. It is never null, and the last one of an order is unique. */
export interface OrderColumn {
  readonly sql: string;
  readonly type: 'text' | 'number' | 'timestamp';
}

export interface PageOrder {
  readonly columns: readonly OrderColumn[];
  readonly direction: SortDirection;
}

/** The rows of a page in parts. A part is read only if those before it do not fill the page. */
interface PageParts {
  /** The alias of `from` and of each table. The order has columns of this alias only. */
  readonly alias: string;
  /** Tables in place of `from`, whose rows are merged. No row of a part comes before one of an earlier part. */
  readonly tables: readonly (readonly string[])[];
  /** Joins with the tables of the other columns. Only the rows of the page are joined. */
  readonly joins: string;
}

/** The rows of a connection: one kind of rows, in one order, under one or many parents. */
export interface PageSource {
  /** The connection, order and filter to which cursors are bound. */
  readonly binding: () => string;
  /** Whether a cursor ends with the id of the revision from which its row was read. */
  readonly cursorsHaveRevision?: boolean;
  readonly from: string;
  readonly columns: readonly string[];
  /** SQL condition for the rows under the parent with the key `parent.key`; null for a connection at the root. */
  readonly underParent: string | null;
  readonly order: PageOrder;
  readonly conditions: readonly string[];
  readonly parts?: PageParts;
  readonly values: Values;
  /** Rows in front of the page. A page without an offset costs the same everywhere. */
  readonly offset?: number;
  /** SQL that returns the total faster than counting, if available. */
  readonly total?: string;
}

/** The parents of the pages of a statement, which are read with them. */
interface Parents {
  /** A table with one row for each, whose alias `parent` has their `key`; none for a connection at the root. */
  readonly tables: readonly string[];
  /** The first one is their key. */
  readonly columns: readonly string[];
}

const ROOT: Parents = { tables: [], columns: [] };

export type NameColumns = readonly [sortName: string, key: string];

export const byName = ([sortName, key]: NameColumns): OrderColumn[] => [
  { sql: sortName, type: 'text' },
  { sql: key, type: 'number' },
];

export const byTime = (time: string, key: string): OrderColumn[] => [
  { sql: time, type: 'timestamp' },
  { sql: key, type: 'number' },
];

/** A statement for the pages of all parents. The columns of a page are one array of JSON, parsed in half the time of as many rows. */
export interface PageQuery {
  readonly statement: Statement;
  readonly values: readonly unknown[];
  readonly source: PageSource;
  readonly limit: number;
  readonly backward: boolean;
  /** The rows whose order columns follow the source's own columns in the page. */
  readonly cursors: PageSelection['cursors'];
  readonly bounds: readonly Bound[];
}

/** Values that are not selected are null. */
export type PageRow = [
  total: number | null,
  hasEarlierRows: true | null,
  hasLaterRows: true | null,
  /** The columns of the page, those of the order last; null in place of a column that has no rows. */
  columns: (unknown[] | null)[] | null,
  ...parentAndRevision: unknown[],
];

/** One page of rows, in the order of the connection, whether it was requested by `first` or `last`. */
export class Page<Row extends unknown[]> {
  private readonly shown: readonly Row[];
  readonly hasNextPage: boolean;
  readonly hasPreviousPage: boolean;
  /** The total if it was selected, otherwise 0. */
  readonly totalCount: number;
  readonly parent: readonly unknown[];
  /** The first column of the parent; 0: there is none. */
  private readonly parentKey: number;
  /** The selected values of each order column, in the order in which they were read. */
  private readonly places: readonly CursorValue[][];
  private readonly cursorExtras: CursorValue[];
  /** The cursors of `places`; null before the first one is requested. */
  private cursors: readonly string[] | null = null;

  /** @param row what was read for the page and its parent */
  constructor(
    private readonly query: PageQuery,
    row: PageRow = [null, null, null, null],
    private readonly seal: KeySeal,
  ) {
    const { limit, backward, source } = query;
    const [total, hasEarlierRows, hasLaterRows, read, ...parentAndRevision] = row;
    const columns = read ?? [];
    const own = columns.slice(0, source.columns.length);
    const rows = (columns[0] ?? []).map((_, index) => own.map((column) => column?.[index]) as Row);
    const beyond = rows.length > limit;
    if (beyond) rows.length = limit;
    this.shown = backward ? rows.reverse() : rows;
    this.hasNextPage = (!backward && beyond) || hasLaterRows === true;
    this.hasPreviousPage = (backward && beyond) || hasEarlierRows === true;
    this.totalCount = total ?? 0;
    this.parent = parentAndRevision.slice(0, -1);
    this.parentKey = (this.parent[0] ?? 0) as number;
    this.cursorExtras = source.cursorsHaveRevision === true ? [(row.at(-1) ?? '') as string] : [];
    // A source without columns has one that counts rows.
    this.places = columns.slice(Math.max(1, own.length)) as CursorValue[][];
  }

  /** @throws ServiceError INVALID_CURSOR if a cursor of the arguments is of another parent */
  get rows(): readonly Row[] {
    for (const { parent, argument } of this.query.bounds)
      if (parent !== this.parentKey) throw foreignCursor(argument);
    return this.shown;
  }

  /** The cursor of a row, or null if there is no such row, or if its cursor was not selected. */
  cursorAt(index: number): string | null {
    const { query, places } = this;
    const { length } = this.shown;
    if (index < 0 || index >= length || places.length === 0) return null;
    const read = query.backward ? length - 1 - index : index;
    const place = query.cursors === 'every' ? read : Math.sign(read);
    this.cursors ??= this.seal.encode(query.source.binding(), places, this.cursorExtras, this.parentKey);
    return this.cursors[place] ?? null;
  }
}

/** A page of memberships that was read with its parent. */
export interface PreloadedPage {
  /** That of MembershipList.cacheKeyOf. */
  readonly cacheKey: string;
  readonly page: Page<unknown[]>;
}

export async function readPage<Row extends unknown[] = unknown[]>(
  reader: Reader,
  source: PageSource,
  page: PageArguments,
  selection: PageSelection,
): Promise<Page<Row>> {
  const query = planPage(source, page, selection, ROOT, reader.seal);
  const [row] = await reader.read<PageRow>(query.statement, query.values);
  return new Page<Row>(query, row, reader.seal);
}

/** Reads the page under each parent, in the order of their keys, in one statement. */
export async function readPages<Row extends unknown[] = unknown[]>(
  reader: Reader,
  source: PageSource,
  page: PageArguments,
  selection: PageSelection,
  keys: readonly number[],
): Promise<Page<Row>[]> {
  const table = `unnest(${source.values.add(keys)}::integer[]) with ordinality parent (key, position)`;
  const parents = { tables: [table], columns: ['parent.key', 'parent.position'] };
  const query = planPage(source, page, selection, parents, reader.seal);
  const rows = await reader.read<PageRow>(query.statement, query.values);
  // PostgreSQL usually returns this order, but does not guarantee it.
  const pages = rows.map((row) => new Page<Row>(query, row, reader.seal));
  return pages.sort((left, right) => Number(left.parent[1]) - Number(right.parent[1]));
}

/** Plans one statement for a page under each parent (keyset pagination). @throws ServiceError INVALID_CURSOR */
export function planPage(
  source: PageSource,
  page: PageArguments,
  selection: PageSelection,
  parents: Parents,
  seal: KeySeal,
): PageQuery {
  const backward = (page.first ?? null) === null;
  const limit = (backward ? page.last : page.first) ?? 0;
  const after = bound(source, page.after, 'after', seal);
  const before = bound(source, page.before, 'before', seal);
  const rows = [...source.conditions, ...(source.underParent === null ? [] : [source.underParent])];
  const total = source.total ?? `(select count(*)::integer from ${source.from} ${where(rows)})`;
  const values = [
    selection.totalCount ? total : 'null',
    selection.hasPreviousPage ? findAnother(source, rows, after) : 'null',
    selection.hasNextPage ? findAnother(source, rows, before) : 'null',
  ];
  const tables = [...parents.tables];
  const isRead = selection.rows || selection.hasNextPage || selection.hasPreviousPage;
  // All values must occur in the statement, even if no row is read.
  if (isRead || source.values.all.length > 0) {
    // One additional row shows whether there is a next page.
    const rowLimit = isRead ? source.values.add(limit + 1) : '0';
    const within = [after, before].flatMap((each) => (each === null ? [] : [each.beyond]));
    const direction = backward ? opposite(source.order.direction) : source.order.direction;
    const arrays = selectArrays(source, selection, rowLimit);
    const found = selectRows(source, selection.cursors !== 'none', [...rows, ...within], direction, rowLimit);
    values.push('page.columns');
    const columns = `array_to_json(array[${arrays.join(', ')}]) as columns`;
    tables.push(`lateral (\n  select ${columns} from (\n${found}\n  ) shown\n) page`);
  } else values.push('null');
  const from = tables.map((table, index) => `${index === 0 ? '\nfrom' : ' cross join'} ${table}`).join('');
  const text = `select ${[...values, ...parents.columns, REVISION].join(', ')}${from}`;
  return {
    ...{ statement: statement(text, { returnsRevision: true }), values: source.values.all, source },
    ...{ limit, backward, cursors: selection.cursors },
    bounds: [after, before].filter((each) => each !== null),
  };
}

/** SQL for whether rows exist beyond a cursor. Its own row is the first that it meets. */
function findAnother({ from, order }: PageSource, rows: readonly string[], end: Bound | null): string {
  if (end === null) return 'null';
  return `(select true from ${from} ${where([...rows, end.outside])} order by ${orderBy(order, end.outwards)} limit 1)`;
}

/** The columns of a page as JSON arrays. The order columns follow, of all rows or of the first and the last one shown. */
function selectArrays({ columns, order }: PageSource, { cursors }: PageSelection, limit: string): string[] {
  // Without columns, the page still needs the number of rows.
  const names = columns.length > 0 ? columns.map((_, index) => `column_${index}`) : ['1'];
  const keys = order.columns.map((_, index) => `order_${index}`);
  const last = `least(count(*), ${limit} - 1)::integer`;
  const endsOf = (name: string) => `json_build_array((array_agg(${name}))[1], (array_agg(${name}))[${last}])`;
  return [
    ...names.map((name) => `json_agg(${name})`),
    ...(cursors === 'every' ? keys.map((name) => `json_agg(${name})`) : []),
    ...(cursors === 'ends' ? keys.map(endsOf) : []),
  ];
}

/** Selects the rows of a page, with their order columns if they are needed. */
function selectRows(
  source: PageSource,
  hasPlaces: boolean,
  conditions: readonly string[],
  direction: SortDirection,
  rowLimit: string,
): string {
  const { order, from, parts, offset, values } = source;
  const columns = [
    ...source.columns.map((sql, index) => `${sql} as column_${index}`),
    ...(hasPlaces ? order.columns : []).map((column, index) => `${outputOf(column)} as order_${index}`),
  ].join(', ');
  const select = (selected: string, tables: string, all: readonly string[]) =>
    `select ${selected} from ${tables} ${where(all)} order by ${orderBy(order, direction)} limit ${rowLimit}`;
  const skipped = offset ? ` offset ${values.add(offset)}` : '';
  if (parts === undefined) return `${select(columns, from, conditions)}${skipped}`;
  const { alias, tables, joins } = parts;
  const union = (selects: readonly string[]) => `(\n(${selects.join('\n) union all (\n')})\n) ${alias}`;
  const inOrder = direction === order.direction ? tables : tables.toReversed();
  const names = inOrder.map((_, index) => `part_${index}`);
  const relations = inOrder.map((each, index) => {
    const earlier = names.slice(0, index).map((name) => `(select count(*) from ${name})`);
    // PostgreSQL checks a condition without columns once, before it reads the tables.
    const isNeeded = earlier.length === 0 ? [] : [`${earlier.join(' + ')} < ${rowLimit}`];
    const [only = '', ...more] = each.map((table) =>
      select(`${alias}.*`, table, [...conditions, ...isNeeded]),
    );
    return `part_${index} as (\n${more.length === 0 ? only : select(`${alias}.*`, union([only, ...more]), [])}\n)`;
  });
  const found = union(names.map((name) => `select * from ${name}`));
  return `with ${relations.join(', ')}\n${select(columns, `${found} ${joins}`, [])}`;
}

const orderBy = ({ columns }: PageOrder, direction: SortDirection) =>
  columns.map(({ sql }) => `${sql} ${direction.toLowerCase()}`).join(', ');

const opposite = (direction: SortDirection) => (direction === 'ASC' ? 'DESC' : 'ASC');

const where = (conditions: readonly string[]) =>
  conditions.length === 0 ? '' : `where ${conditions.join(' and ')}`;

/** An instant in a cursor is in milliseconds since 1970. */
function outputOf({ sql, type }: OrderColumn): string {
  return type === 'timestamp' ? `(extract(epoch from ${sql}) * 1000)::float8` : sql;
}

interface Bound {
  readonly argument: 'after' | 'before';
  /** The key of the parent whose page had the cursor; 0 at the root. */
  readonly parent: CursorValue;
  /** SQL condition for the rows of the page. */
  readonly beyond: string;
  /** SQL condition for the rows on the other side. The row of the cursor is the first of them. */
  readonly outside: string;
  readonly outwards: SortDirection;
}

function bound(
  { binding, order, values, cursorsHaveRevision = false }: PageSource,
  cursor: string | null | undefined,
  argument: 'after' | 'before',
  seal: KeySeal,
): Bound | null {
  if (cursor === undefined || cursor === null) return null;
  const types = order.columns.slice(0, -1).map(({ type }) => (type === 'text' ? 'string' : 'number'));
  const extras = cursorsHaveRevision ? (['string'] as const) : [];
  const place = seal.decode(cursor, binding(), [...types, 'key', ...extras], argument);
  const columns = `(${order.columns.map((column) => column.sql).join(', ')})`;
  const here = `(${order.columns.map((column, index) => inputOf(column, place[index] ?? '', values)).join(', ')})`;
  const onwards = argument === 'after' ? order.direction : opposite(order.direction);
  const [further, nearer] = onwards === 'ASC' ? ['>', '<'] : ['<', '>'];
  return {
    ...{ argument, parent: place.at(-1) ?? 0 },
    beyond: `${columns} ${further} ${here}`,
    outside: `${columns} ${nearer}= ${here}`,
    outwards: opposite(onwards),
  };
}

const LAST_INSTANT = Date.UTC(9999, 0);

/** A forged cursor may contain any whole number. PostgreSQL and ISO 8601 with four-digit years have no later instants. */
function inputOf({ type }: OrderColumn, value: CursorValue, values: Values): string {
  if (type === 'text') return `${values.add(value)}::text`;
  if (type === 'number') return `${values.add(Number(value))}::bigint`;
  const instant = new Date(Math.max(0, Math.min(Number(value), LAST_INSTANT)));
  return `${values.add(instant.toISOString())}::timestamptz`;
}
