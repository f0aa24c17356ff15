import { type CursorBinding, type CursorValue, decodeCursor } from '../../common/cursor.js';
import type { KeySeal } from '../../common/key-seal.js';
import {
  opposite,
  type PageArguments,
  type PageSelection,
  type SelectedCursors,
  type SortDirection,
} from '../../common/page.js';
import { REVISION, type Statement, statement, type Values } from '../statements/statement.js';

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
export interface PageParts {
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
  readonly binding: CursorBinding;
  /** Whether a cursor ends with the id of the revision from which its row was read. */
  readonly cursorsHaveRevision?: boolean;
  readonly from: string;
  readonly columns: readonly string[];
  /** Column that holds the parent's key; null for a connection at the root. */
  readonly parent: string | null;
  /** SQL for what that column holds, given SQL for the key. Default: the key. */
  readonly parentValue?: (key: string) => string;
  readonly order: PageOrder;
  readonly conditions: readonly string[];
  readonly parts?: PageParts;
  readonly values: Values;
  /** SQL that returns the total faster than counting, if available. */
  readonly total?: string;
}

/** A parent that is looked up by its id and read together with its page. */
export interface ParentLookup {
  /** Its table, with the alias that its columns use. */
  readonly from: string;
  readonly key: string;
  /** SQL condition for the parent, with placeholders from the values of the source. */
  readonly condition: string;
  /** Its columns, with the key first. */
  readonly columns: readonly string[];
}

/** The parents of pages: their table and columns, and the condition for rows under them. */
interface Parents {
  readonly tables: readonly string[];
  readonly conditions: readonly string[];
  /** SQL for the position of each of several parents. */
  readonly position: string;
  readonly columns: readonly string[];
}

export type NameColumns = readonly [sortName: string, key: string];

export function byName([sortName, key]: NameColumns): OrderColumn[] {
  return [
    { sql: sortName, type: 'text' },
    { sql: key, type: 'number' },
  ];
}

export function byTime(time: string, key: string): OrderColumn[] {
  return [
    { sql: time, type: 'timestamp' },
    { sql: key, type: 'number' },
  ];
}

/**
 * A statement for the pages of all parents, with one row for each: a PageRow. Each column of a page is one JSON array, which Node.js
 * parses in half the time of as many rows.
 */
export interface PageQuery {
  readonly statement: Statement;
  readonly values: readonly unknown[];
  readonly source: PageSource;
  readonly limit: number;
  readonly backward: boolean;
  /** The rows whose order columns follow the source's own columns in the page. */
  readonly cursors: SelectedCursors;
  /** The number of columns of a page. Those of the order are the last ones. */
  readonly width: number;
}

/** Values that are not selected are null. */
export type PageRow = [
  /** The position of the parent among several, starting at 1. */
  position: number | null,
  total: number | null,
  hasEarlierRows: true | null,
  hasLaterRows: true | null,
  /** The columns of the page, those of a looked up parent, and the revision. */
  ...pageParentAndRevision: unknown[],
];

/**
 * Plans one statement for a page under each parent. It compares the order columns with the cursor (keyset
 * pagination), so a page costs the same at any depth, and reads only the selected columns.
 * @param parents keys, or one parent to look up; null for a connection at the root
 * @throws ServiceError INVALID_CURSOR
 */
export function planPage(
  source: PageSource,
  page: PageArguments,
  selection: PageSelection,
  parents: readonly number[] | ParentLookup | null,
  seal: KeySeal,
): PageQuery {
  const { cursors } = selection;
  const backward = (page.first ?? null) === null;
  const limit = (backward ? page.last : page.first) ?? 0;
  const after = bound(source, page.after, 'after', seal);
  const before = bound(source, page.before, 'before', seal);
  const parent = selectParents(source, parents);
  const rows = [...source.conditions, ...parent.conditions];
  const total = source.total ?? `(select count(*)::integer from ${source.from} ${where(rows)})`;
  const values = [
    parent.position,
    selection.totalCount ? total : 'null',
    selection.hasPreviousPage ? findAnother(source, rows, after) : 'null',
    selection.hasNextPage ? findAnother(source, rows, before) : 'null',
  ];
  const tables = [...parent.tables];
  let names: string[] = [];
  const isRead = selection.rows || selection.hasNextPage || selection.hasPreviousPage;
  // All values must occur in the statement, even if no row is read.
  if (isRead || source.values.all.length > 0) {
    // One additional row shows whether there is a next page.
    const rowLimit = isRead ? source.values.add(limit + 1) : '0';
    const within = [after, before].flatMap((each) => (each === null ? [] : [each.beyond]));
    const direction = backward ? opposite(source.order.direction) : source.order.direction;
    const arrays = selectArrays(source, cursors, rowLimit);
    const found = selectRows(source, cursors !== 'none', [...rows, ...within], direction, rowLimit);
    names = arrays.map((_, index) => `page.array_${index}`);
    const selected = arrays.map((sql, index) => `${sql} as array_${index}`).join(', ');
    tables.push(`lateral (\n  select ${selected} from (\n${found}\n  ) shown\n) page`);
  }
  const from = tables.map((table, index) => `${index === 0 ? '\nfrom' : ' cross join'} ${table}`).join('');
  const text = `select ${[...values, ...names, ...parent.columns, REVISION].join(', ')}${from}`;
  return {
    ...{ statement: statement(text, { returnsRevision: true }), values: source.values.all, source },
    ...{ limit, backward, cursors, width: names.length },
  };
}

/** SQL for whether rows exist beyond a cursor. Its own row is the first that it meets. */
function findAnother({ from, order }: PageSource, rows: readonly string[], end: Bound | null): string {
  if (end === null) return 'null';
  return `(select true from ${from} ${where([...rows, end.outside])} order by ${orderBy(order, end.outwards)} limit 1)`;
}

/**
 * The columns of a page as JSON arrays, sorted before they are aggregated. The order columns follow, of all rows or of the first and
 * the last one shown. `rowLimit` is the page size plus one.
 */
function selectArrays({ columns, order }: PageSource, cursors: SelectedCursors, rowLimit: string): string[] {
  // Without columns, the page still needs the number of rows.
  const names = columns.length > 0 ? columns.map((_, index) => `column_${index}`) : ['1'];
  const keys = order.columns.map((_, index) => `order_${index}`);
  const last = `least(count(*), ${rowLimit} - 1)::integer`;
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
  const { order, from, parts } = source;
  const columns = [
    ...source.columns.map((sql, index) => `${sql} as column_${index}`),
    ...(hasPlaces ? order.columns : []).map((column, index) => `${outputOf(column)} as order_${index}`),
  ].join(', ');
  const select: SelectRows = (selected, tables, all) =>
    `select ${selected} from ${tables} ${where(all)} order by ${orderBy(order, direction)} limit ${rowLimit}`;
  if (parts === undefined) return select(columns, from, conditions);
  const inOrder = direction === order.direction ? parts.tables : parts.tables.toReversed();
  const [relations, found] = selectParts({ ...parts, tables: inOrder }, select, conditions, rowLimit);
  return `with ${relations}\n${select(columns, `${found} ${parts.joins}`, [])}`;
}

/** SQL for as many rows as the page may have, in its order. */
type SelectRows = (columns: string, from: string, conditions: readonly string[]) => string;

/** Returns a relation for each part, and a table with the rows of all. */
function selectParts(
  { alias, tables }: Pick<PageParts, 'alias' | 'tables'>,
  select: SelectRows,
  conditions: readonly string[],
  rowLimit: string,
): [relations: string, found: string] {
  const names = tables.map((_, index) => `part_${index}`);
  const union = (selects: readonly string[]) => `(\n(${selects.join('\n) union all (\n')})\n) ${alias}`;
  const relations = tables.map((each, index) => {
    const earlier = names.slice(0, index).map((name) => `(select count(*) from ${name})`);
    // PostgreSQL checks a condition without columns once, before it reads the tables.
    const isNeeded = earlier.length === 0 ? [] : [`${earlier.join(' + ')} < ${rowLimit}`];
    const selects = each.map((from) => select(`${alias}.*`, from, [...conditions, ...isNeeded]));
    const [only = '', ...more] = selects;
    return `part_${index} as (\n${more.length === 0 ? only : select(`${alias}.*`, union(selects), [])}\n)`;
  });
  return [relations.join(', '), union(names.map((name) => `select * from ${name}`))];
}

function orderBy({ columns }: PageOrder, direction: SortDirection): string {
  return columns.map(({ sql }) => `${sql} ${direction.toLowerCase()}`).join(', ');
}

function where(conditions: readonly string[]): string {
  return conditions.length === 0 ? '' : `where ${conditions.join(' and ')}`;
}

/** An instant in a cursor is in milliseconds since 1970. */
function outputOf({ sql, type }: OrderColumn): string {
  return type === 'timestamp' ? `(extract(epoch from ${sql}) * 1000)::float8` : sql;
}

function selectParents(
  { parent, parentValue = (key) => key, values }: PageSource,
  parents: readonly number[] | ParentLookup | null,
): Parents {
  const none = { tables: [], conditions: [], position: 'null', columns: [] };
  if (parents === null || parent === null) return none;
  const one = { ...none, conditions: [`${parent} = ${parentValue('parent.key')}`] };
  if ('from' in parents) {
    // Returns one row even if the parent does not exist. In that row only the revision is not null.
    const { from, key, condition, columns } = parents;
    const table = `(values (1)) one left join ${from} on ${condition} cross join lateral (select ${key} as key) parent`;
    return { ...one, tables: [table], columns };
  }
  const table = `unnest(${values.add(parents)}::integer[]) with ordinality parent (key, position)`;
  return { ...one, tables: [table], position: 'parent.position' };
}

interface Bound {
  /** SQL condition for the rows of the page. */
  readonly beyond: string;
  /** SQL condition for the rows on the other side. The row of the cursor is the first of them. */
  readonly outside: string;
  /** The direction from the cursor away from the page. */
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
  const place = decodeCursor(seal, cursor, binding, [...types, 'key', ...extras], argument);
  const columns = `(${order.columns.map((column) => column.sql).join(', ')})`;
  const here = `(${order.columns.map((column, index) => inputOf(column, place[index] ?? '', values)).join(', ')})`;
  const onwards = argument === 'after' ? order.direction : opposite(order.direction);
  const [further, nearer] = onwards === 'ASC' ? ['>', '<'] : ['<', '>'];
  return {
    beyond: `${columns} ${further} ${here}`,
    outside: `${columns} ${nearer}= ${here}`,
    outwards: opposite(onwards),
  };
}

/** A forged cursor may contain any whole number. PostgreSQL and ISO 8601 with four-digit years have no later instants. */
function inputOf({ type }: OrderColumn, value: CursorValue, values: Values): string {
  if (type === 'text') return `${values.add(value)}::text`;
  if (type === 'number') return `${values.add(Number(value))}::bigint`;
  const instant = new Date(Math.max(0, Math.min(Number(value), LAST_INSTANT)));
  return `${values.add(instant.toISOString())}::timestamptz`;
}

const LAST_INSTANT = Date.UTC(9999, 0);
