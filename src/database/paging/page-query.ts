import {
  opposite,
  type OrderDirection,
  type PageArguments,
  type PageSelection,
  type SelectedCursors,
} from '../../common/page.js';
import { type Bound, bound } from './page-bound.js';
import type { OrderColumn, PageOrder, PageSource, SoughtParent } from './page-source.js';
import { REVISION, type Statement, statement } from '../statements/statement.js';
import type { Values } from '../statements/values.js';

/** What is told of a page beside its rows. */
type Fact = 'total' | 'behind' | 'ahead';

/**
 * A statement for the pages of all parents at once, with what is needed to understand its rows. There is one for each parent,
 * in which its page is a single value: JSON with an array for each column, of what stands there in one row after the other.
 * Node.js takes that apart in half the time that it takes for as many rows, and PostgreSQL makes it in the same.
 */
export interface PageQuery {
  readonly statement: Statement;
  readonly values: readonly unknown[];
  readonly source: PageSource;
  readonly limit: number;
  readonly backward: boolean;
  /** Whether the first value is the position of the parent, from 1 on. */
  readonly isMany: boolean;
  /** What follows then. */
  readonly facts: readonly Fact[];
  /** How many values follow of a parent that was looked for. The page is next, where there is one. */
  readonly parentWidth: number;
  /** Whose values of the order's columns follow the source's own in the page: see selectPage. */
  readonly cursors: SelectedCursors;
}

/**
 * Plans the statement for one page under each parent: one round trip, whatever the number of parents or rows.
 * Keyset pagination: a page is found by comparing the order's columns with the cursor's, never by counting
 * rows off, so that it costs the same at any depth and repeats or skips nobody when rows come and go.
 * Each column of a page costs as much as its row does, here and in PostgreSQL: none is read that is not asked for.
 * @param parents keys of the parents, or one that is to be found; null for a connection at the root
 * @throws ServiceError INVALID_CURSOR
 */
export function planPage(
  source: PageSource,
  page: PageArguments,
  selection: PageSelection,
  parents: readonly number[] | SoughtParent | null,
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

  const facts = new Map<Fact, string>();
  const sought = parents !== null && 'from' in parents ? parents : null;
  if (selection.totalCount) {
    const known = source.total === undefined ? undefined : (sought?.total ?? source.total);
    facts.set('total', known ?? countRows(source, rows));
  }
  if (after !== null && selection.hasPreviousPage) facts.set('behind', findAnother(source, rows, after));
  if (before !== null && selection.hasNextPage) facts.set('ahead', findAnother(source, rows, before));

  const direction = backward ? opposite(order.direction) : order.direction;
  const { cursors } = selection;
  const places = cursors !== 'none' || source.stretches !== undefined ? order.columns : [];
  const isMany = parents !== null && 'length' in parents && parents.length > 1;
  const told = [...(isMany ? ['parent.position'] : []), ...facts.values(), ...(sought?.columns ?? [])];
  const from = parents === null ? [] : [parentTable(parents, values)];
  const isRead = selection.rows || selection.hasNextPage || selection.hasPreviousPage;
  // Every value has to stand in the statement, also where no row is asked for.
  if (isRead || values.all.length > 0) {
    told.push('page.packed');
    // One row more than the page tells whether there is a next one.
    const rowLimit = isRead ? values.add(limit + 1) : '0';
    const shown = selectRows(source, places, within, direction, rowLimit);
    from.push(`lateral (${selectPage(source, cursors, shown, rowLimit)}) page`);
  }
  const text = `select ${[...told, REVISION].join(', ')}${from.length > 0 ? `\nfrom ${from.join(' cross join ')}` : ''}`;
  return {
    statement: statement(text, { tellsRevision: true, isShort: !isMany && isAlongIndex(source, selection) }),
    values: values.all,
    source,
    limit,
    backward,
    isMany,
    facts: [...facts.keys()],
    parentWidth: sought?.columns.length ?? 0,
    cursors,
  };
}

/** Whether it takes no longer to find the rows than to read them. */
function isAlongIndex(
  { conditions, stretches, parent, total }: PageSource,
  { totalCount }: PageSelection,
): boolean {
  return (
    parent !== null &&
    conditions.length === 0 &&
    stretches === undefined &&
    (!totalCount || total !== undefined)
  );
}

function parentTable(parents: readonly number[] | SoughtParent, values: Values): string {
  if ('from' in parents) {
    // One row, also where nothing is found: then it has nothing but the revision in it.
    const { from, key, condition } = parents;
    return `(values (1)) one left join ${from} on ${condition} cross join lateral (select ${key} as key) parent`;
  }
  const [parent] = parents;
  return parents.length === 1
    ? `(select ${values.add(parent)}::integer as key) parent`
    : `unnest(${values.add(parents)}::integer[]) with ordinality parent (key, position)`;
}

/**
 * A page as one value: its rows come in their order, since they are sorted before they are aggregated. Each column of the source has an
 * array, and so has each column of the order, of what is in every row, or in the first that was read and the last that is shown.
 * @param rowLimit one more than are shown
 */
function selectPage(
  { columns, order }: PageSource,
  cursors: SelectedCursors,
  shown: string,
  rowLimit: string,
): string {
  // Without a column it has to tell how many rows there are.
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

/** The rows of a page, of every stretch, with their places in the order. */
function selectRows(
  source: PageSource,
  places: readonly OrderColumn[],
  conditions: readonly string[],
  direction: OrderDirection,
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

/**
 * Whether there are rows on the other side of a cursor: looked for from there outwards, where its own row is the first to
 * be met, and mostly still there.
 */
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

/** What is asked of each stretch of a source: of the whole, where it has none. */
function inStretches(
  { stretches }: PageSource,
  conditions: readonly string[],
  ask: (conditions: readonly string[]) => string,
): string[] {
  return stretches === undefined
    ? [ask(conditions)]
    : stretches.map((stretch) => ask([...conditions, stretch]));
}

function orderBy({ columns }: PageOrder, direction: OrderDirection): string {
  return columns.map(({ sql }) => `${sql} ${direction.toLowerCase()}`).join(', ');
}

/** The same of rows that have been read. */
function orderByNames({ columns }: PageOrder, direction: OrderDirection): string {
  return columns.map((_, index) => `order_${index} ${direction.toLowerCase()}`).join(', ');
}

function where(conditions: readonly string[]): string {
  return conditions.length === 0 ? '' : `where ${conditions.join(' and ')}`;
}

function columnOf({ instants }: PageSource, sql: string): string {
  return instants.includes(sql) ? outputOf(sql, 'timestamp') : sql;
}

/**
 * As a number of JavaScript's, so that a cursor holds it exactly: timestamps are kept to the millisecond, and keys are
 * below 2^53.
 */
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
