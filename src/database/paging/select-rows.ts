import { opposite, type SelectedCursors, type SortDirection } from '../../common/page.js';
import { jsonArray } from '../statements/statement.js';
import type { OrderColumn, PageOrder, PageParts, PageSource } from './page-source.js';

/**
 * Builds a page as one value: an array for each column, sorted before it is aggregated. The order columns
 * follow, of all rows or of the first and the last one shown. `rowLimit` is the page size plus one.
 */
export function selectPage(
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
export function inUnionBranches(
  { unionBranches }: PageSource,
  conditions: readonly string[],
  ask: (conditions: readonly string[]) => string,
): string[] {
  return unionBranches === undefined
    ? [ask(conditions)]
    : unionBranches.map((branch) => ask([...conditions, branch]));
}

export function orderBy({ columns }: PageOrder, direction: SortDirection): string {
  return columns.map(({ sql }) => `${sql} ${direction.toLowerCase()}`).join(', ');
}

function orderByNames({ columns }: PageOrder, direction: SortDirection): string {
  return columns.map((_, index) => `order_${index} ${direction.toLowerCase()}`).join(', ');
}

export function where(conditions: readonly string[]): string {
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
