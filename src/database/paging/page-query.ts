import type { KeySeal } from '../../common/key-seal.js';
import {
  opposite,
  type PageArguments,
  type PageSelection,
  type SelectedCursors,
  type SortDirection,
} from '../../common/page.js';
import { jsonArray, REVISION, type Statement, statement } from '../statements/statement.js';
import {
  type Bound,
  bound,
  type OrderColumn,
  type PageOrder,
  type PageParts,
  type PageSource,
  type ParentLookup,
  type Parents,
  selectParents,
} from './page-source.js';

/** A value that is read with a page, in addition to its rows: the total, and whether rows exist beyond the cursors. */
type PageColumn = 'total' | 'hasEarlierRows' | 'hasLaterRows';

/**
 * A statement for the pages of all parents, with one row for each. The page is one JSON value: an array for
 * each column, which Node.js parses in half the time of as many rows.
 */
export interface PageQuery {
  readonly statement: Statement;
  readonly values: readonly unknown[];
  readonly source: PageSource;
  readonly limit: number;
  readonly backward: boolean;
  /** Whether the first value is the position of the parent, starting at 1. */
  readonly hasSeveralParents: boolean;
  /** The values that follow. */
  readonly pageColumns: readonly PageColumn[];
  /** Number of columns of a looked-up parent, which follow. The page comes after them, if it is read. */
  readonly parentWidth: number;
  /** The rows whose order columns follow the source's own columns in the page: see selectPage. */
  readonly cursors: SelectedCursors;
}

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
  const backward = (page.first ?? null) === null;
  const limit = (backward ? page.last : page.first) ?? 0;
  const bounds = boundsOf(source, page, seal);
  const parent = selectParents(source, parents);
  const rows = [...source.conditions, ...parent.conditions];
  const pageColumns = selectPageColumns(source, selection, rows, bounds, parent);
  const columns = [...parent.position, ...pageColumns.values(), ...parent.columns];
  const tables = [...parent.tables];
  const isRead = selection.rows || selection.hasNextPage || selection.hasPreviousPage;
  // All values must occur in the statement, even if no row is read.
  if (isRead || source.values.all.length > 0) {
    columns.push('page.packed');
    // One additional row shows whether there is a next page.
    const rowLimit = isRead ? source.values.add(limit + 1) : '0';
    tables.push(selectPage(source, selection.cursors, withinBounds(rows, bounds), backward, rowLimit));
  }
  const hasSeveralParents = parent.position.length > 0;
  const text = `select ${[...columns, REVISION].join(', ')}${fromTables(tables)}`;
  return {
    statement: statement(text, { returnsRevision: true }),
    values: source.values.all,
    source,
    limit,
    backward,
    hasSeveralParents,
    pageColumns: [...pageColumns.keys()],
    parentWidth: parent.columns.length,
    cursors: selection.cursors,
  };
}

function fromTables(tables: readonly string[]): string {
  return tables.map((table, index) => `${index === 0 ? '\nfrom' : ' cross join'} ${table}`).join('');
}

interface Bounds {
  readonly after: Bound | null;
  readonly before: Bound | null;
}

function boundsOf(source: PageSource, { after, before }: PageArguments, seal: KeySeal): Bounds {
  return { after: bound(source, after, 'after', seal), before: bound(source, before, 'before', seal) };
}

function withinBounds(rows: readonly string[], { after, before }: Bounds): string[] {
  return [...rows, ...[after, before].flatMap((each) => (each === null ? [] : [each.beyond]))];
}

/** SQL for the selected page columns. */
function selectPageColumns(
  source: PageSource,
  { totalCount, hasPreviousPage, hasNextPage }: PageSelection,
  rows: readonly string[],
  { after, before }: Bounds,
  parent: Parents,
): Map<PageColumn, string> {
  const pageColumns = new Map<PageColumn, string>();
  if (totalCount) {
    const known = source.total === undefined ? undefined : (parent.total ?? source.total);
    pageColumns.set('total', known ?? countRows(source, rows));
  }
  if (after !== null && hasPreviousPage) pageColumns.set('hasEarlierRows', findAnother(source, rows, after));
  if (before !== null && hasNextPage) pageColumns.set('hasLaterRows', findAnother(source, rows, before));
  return pageColumns;
}

function countRows(source: PageSource, conditions: readonly string[]): string {
  return inUnionBranches(
    source,
    conditions,
    (all) => `(select count(*)::integer from ${source.from} ${where(all)})`,
  ).join(' + ');
}

/** SQL for whether rows exist beyond a cursor. Its own row is the first that it meets. */
function findAnother(
  source: PageSource,
  conditions: readonly string[],
  { outside, outwards }: Bound,
): string {
  const { from, order } = source;
  return inUnionBranches(
    source,
    [...conditions, outside],
    (all) => `(select true from ${from} ${where(all)} order by ${orderBy(order, outwards)} limit 1)`,
  ).reduce((found, next) => `coalesce(${found}, ${next})`);
}

/**
 * Builds a page as one value: an array for each column, sorted before it is aggregated. The order columns
 * follow, of all rows or of the first and the last one shown. `rowLimit` is the page size plus one.
 */
function selectPage(
  source: PageSource,
  cursors: SelectedCursors,
  conditions: readonly string[],
  backward: boolean,
  rowLimit: string,
): string {
  const { columns, order, unionBranches } = source;
  const direction = backward ? opposite(order.direction) : order.direction;
  const places = cursors !== 'none' || unionBranches !== undefined ? order.columns : [];
  const rows = selectRows(source, places, conditions, direction, rowLimit);
  // Without columns, the page still needs the number of rows.
  const names = columns.length > 0 ? columns.map((_, index) => `column_${index}`) : ['1'];
  const arrays = names.map((name) => `json_agg(${name})`);
  const keys = order.columns.map((_, index) => `order_${index}`);
  if (cursors === 'every') arrays.push(...keys.map((name) => `json_agg(${name})`));
  if (cursors === 'ends') {
    const last = `least(count(*), ${rowLimit} - 1)::integer`;
    const endsOf = (name: string) =>
      `json_build_array((array_agg(${name}))[1], (array_agg(${name}))[${last}])`;
    arrays.push(...keys.map(endsOf));
  }
  return `lateral (\n  select ${jsonArray(arrays)} as packed from (\n${rows}\n  ) shown\n) page`;
}

/** Selects the rows of a page, with their order columns. */
function selectRows(
  source: PageSource,
  places: readonly OrderColumn[],
  conditions: readonly string[],
  direction: SortDirection,
  rowLimit: string,
): string {
  const { order, from, parts } = source;
  const keys = places.map(({ sql, type }, index) => `${outputOf(sql, type)} as order_${index}`);
  const columns = [
    ...source.columns.map((sql, index) => `${columnOf(source, sql)} as column_${index}`),
    ...keys,
  ];
  const select: SelectRows = (selected, tables, all) =>
    [
      `  select ${selected}`,
      `  from ${tables}`,
      `  ${where(all)}`,
      `  order by ${orderBy(order, direction)}`,
      `  limit ${rowLimit}`,
    ].join('\n');
  if (parts !== undefined) {
    const inOrder = direction === order.direction ? parts.tables : parts.tables.toReversed();
    const [relations, found] = selectParts({ ...parts, tables: inOrder }, select, conditions, rowLimit);
    return `with ${relations}\n${select(columns.join(', '), `${found} ${parts.joins}`, [])}`;
  }
  const each = inUnionBranches(source, conditions, (all) => select(columns.join(', '), from, all));
  if (each.length === 1) return each.join();
  return [
    `(`,
    each.join('\n) union all (\n'),
    `) order by ${orderByNames(order, direction)} limit ${rowLimit}`,
  ].join('\n');
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

/** Builds the SQL for each union branch of a source, or for the whole source if it has no branches. */
function inUnionBranches(
  { unionBranches }: PageSource,
  conditions: readonly string[],
  ask: (conditions: readonly string[]) => string,
): string[] {
  return unionBranches === undefined
    ? [ask(conditions)]
    : unionBranches.map((branch) => ask([...conditions, branch]));
}

function orderBy({ columns }: PageOrder, direction: SortDirection): string {
  return columns.map(({ sql }) => `${sql} ${direction.toLowerCase()}`).join(', ');
}

function orderByNames({ columns }: PageOrder, direction: SortDirection): string {
  return columns.map((_, index) => `order_${index} ${direction.toLowerCase()}`).join(', ');
}

function where(conditions: readonly string[]): string {
  return conditions.length === 0 ? '' : `where ${conditions.join(' and ')}`;
}

function columnOf({ instants }: PageSource, sql: string): string {
  return instants.includes(sql) ? outputOf(sql, 'timestamp') : sql;
}

/** SQL for a value as a JavaScript number, which a cursor holds exactly (milliseconds, keys below 2^53). */
export function outputOf(sql: string, type: OrderColumn['type']): string {
  switch (type) {
    case 'timestamp':
      return `(extract(epoch from ${sql}) * 1000)::float8`;
    case 'bigint':
      return `(${sql})::float8`;
    default:
      return sql;
  }
}
