import {
  opposite,
  type SortDirection,
  type PageArguments,
  type PageSelection,
  type SelectedCursors,
} from '../../common/page.js';
import {
  type Bound,
  bound,
  type OrderColumn,
  type PageOrder,
  type PageSource,
  type ParentLookup,
} from './page-source.js';
import { REVISION, type Statement, statement, type Values } from '../statements/statement.js';

/** A value that is read with a page, in addition to its rows. */
type PageColumn = 'total' | 'behind' | 'ahead';

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
  readonly isMany: boolean;
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
): PageQuery {
  const { values, order } = source;
  const backward = page.first === undefined || page.first === null;
  const limit = (backward ? page.last : page.first) ?? 0;
  const after = bound(source, page.after, 'after');
  const before = bound(source, page.before, 'before');
  const rows = [...source.conditions];
  if (source.parent !== null) rows.push(`${source.parent} = parent.key`);
  const within = [...rows];
  if (after !== null) within.push(after.beyond);
  if (before !== null) within.push(before.beyond);

  const pageColumns = new Map<PageColumn, string>();
  const parentLookup = parents !== null && 'from' in parents ? parents : null;
  if (selection.totalCount) {
    const known = source.total === undefined ? undefined : (parentLookup?.total ?? source.total);
    pageColumns.set('total', known ?? countRows(source, rows));
  }
  if (after !== null && selection.hasPreviousPage)
    pageColumns.set('behind', findAnother(source, rows, after));
  if (before !== null && selection.hasNextPage) pageColumns.set('ahead', findAnother(source, rows, before));

  const direction = backward ? opposite(order.direction) : order.direction;
  const { cursors } = selection;
  const places = cursors !== 'none' || source.unionBranches !== undefined ? order.columns : [];
  const isMany = parents !== null && 'length' in parents && parents.length > 1;
  const selected = [
    ...(isMany ? ['parent.position'] : []),
    ...pageColumns.values(),
    ...(parentLookup?.columns ?? []),
  ];
  const from = parents === null ? [] : [parentTable(parents, values)];
  const isRead = selection.rows || selection.hasNextPage || selection.hasPreviousPage;
  // All values must occur in the statement, even if no row is read.
  if (isRead || values.all.length > 0) {
    selected.push('page.packed');
    // One additional row shows whether there is a next page.
    const rowLimit = isRead ? values.add(limit + 1) : '0';
    const shown = selectRows(source, places, within, direction, rowLimit);
    from.push(`lateral (${selectPage(source, cursors, shown, rowLimit)}) page`);
  }
  const text = `select ${[...selected, REVISION].join(', ')}${from.length > 0 ? `\nfrom ${from.join(' cross join ')}` : ''}`;
  return {
    statement: statement(text, {
      returnsRevision: true,
      isShort: !isMany && isAlongIndex(source, selection),
    }),
    values: values.all,
    source,
    limit,
    backward,
    isMany,
    pageColumns: [...pageColumns.keys()],
    parentWidth: parentLookup?.columns.length ?? 0,
    cursors,
  };
}

/** Whether finding the rows takes no longer than reading them. */
function isAlongIndex(
  { conditions, unionBranches, parent, total }: PageSource,
  { totalCount }: PageSelection,
): boolean {
  return (
    parent !== null &&
    conditions.length === 0 &&
    unionBranches === undefined &&
    (!totalCount || total !== undefined)
  );
}

function parentTable(parents: readonly number[] | ParentLookup, values: Values): string {
  if ('from' in parents) {
    // Returns one row even if the parent does not exist. In that row only the revision is not null.
    const { from, key, condition } = parents;
    return `(values (1)) one left join ${from} on ${condition} cross join lateral (select ${key} as key) parent`;
  }
  const [parent] = parents;
  return parents.length === 1
    ? `(select ${values.add(parent)}::integer as key) parent`
    : `unnest(${values.add(parents)}::integer[]) with ordinality parent (key, position)`;
}

/**
 * Builds a page as one value: an array for each column, sorted before it is aggregated. The order columns
 * follow, of all rows or of the first and the last one shown. `rowLimit` is the page size plus one.
 */
function selectPage(
  { columns, order }: PageSource,
  cursors: SelectedCursors,
  shown: string,
  rowLimit: string,
): string {
  // Without columns, the page still needs the number of rows.
  const names = columns.length > 0 ? columns.map((_, index) => `column_${index}`) : ['1'];
  const arrays = names.map((name) => `json_agg(${name})`);
  const places = order.columns.map((_, index) => `order_${index}`);
  if (cursors === 'every') arrays.push(...places.map((name) => `json_agg(${name})`));
  if (cursors === 'ends') {
    const last = `least(count(*), ${rowLimit} - 1)::integer`;
    arrays.push(
      ...places.map((name) => `json_build_array((array_agg(${name}))[1], (array_agg(${name}))[${last}])`),
    );
  }
  return `\n  select json_build_array(${arrays.join(', ')}) as packed from (\n${shown}\n  ) shown\n`;
}

/** Selects the rows of a page from all union branches, with their order columns. */
function selectRows(
  source: PageSource,
  places: readonly OrderColumn[],
  conditions: readonly string[],
  direction: SortDirection,
  rowLimit: string,
): string {
  const { order } = source;
  const keys = places.map(({ sql, type }, index) => `${outputOf(sql, type)} as order_${index}`);
  const columns = [
    ...source.columns.map((sql, index) => `${columnOf(source, sql)} as column_${index}`),
    ...keys,
  ];
  const each = inStretches(source, conditions, (all) =>
    [
      `  select ${columns.join(', ')}`,
      `  from ${source.from}`,
      `  ${where(all)}`,
      `  order by ${orderBy(order, direction)}`,
      `  limit ${rowLimit}`,
    ].join('\n'),
  );
  if (each.length === 1) return each.join();
  return [
    `(`,
    each.join('\n) union all (\n'),
    `) order by ${orderByNames(order, direction)} limit ${rowLimit}`,
  ].join('\n');
}

function countRows(source: PageSource, conditions: readonly string[]): string {
  return inStretches(
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
  return inStretches(
    source,
    [...conditions, outside],
    (all) => `(select true from ${from} ${where(all)} order by ${orderBy(order, outwards)} limit 1)`,
  ).reduce((found, next) => `coalesce(${found}, ${next})`);
}

/** Builds the SQL for each union branch of a source, or for the whole source if it has no branches. */
function inStretches(
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

/** Orders rows that have already been read. */
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
function outputOf(sql: string, type: OrderColumn['type']): string {
  switch (type) {
    case 'timestamp':
      return `(extract(epoch from ${sql}) * 1000)::float8`;
    case 'bigint':
      return `(${sql})::float8`;
    default:
      return sql;
  }
}
