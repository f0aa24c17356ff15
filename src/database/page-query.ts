import { type CursorBinding, type CursorValue, decodeCursor } from '../common/cursor.js';
import type { OrderDirection, PageArguments, PageSelection } from '../common/page.js';
import { REVISION, type Statement, statement } from './statement.js';
import type { Values } from './values.js';

/** A column that pages are ordered by. It is never null, and the last one of an order is unique. */
export interface OrderColumn {
  readonly sql: string;
  readonly type: 'text' | 'integer' | 'bigint' | 'timestamp';
}

export interface PageOrder {
  readonly columns: readonly OrderColumn[];
  readonly direction: OrderDirection;
}

/** What a connection reads: one kind of rows, in one order, under one or many parents. */
export interface PageSource {
  /** What cursors of this connection, with this order and filter, are bound to. */
  readonly binding: CursorBinding;
  readonly from: string;
  readonly columns: readonly string[];
  /** Column that holds the parent's key; null for a connection at the root. */
  readonly parent: string | null;
  readonly order: PageOrder;
  /** What rows have to be, in SQL, with placeholders from `values`. */
  readonly conditions: readonly string[];
  readonly values: Values;
  /** SQL that gives the total faster than counting, where there is such. */
  readonly total?: string;
}

/** A statement for the pages of all parents at once, with what is needed to understand its rows. */
export interface PageQuery {
  readonly statement: Statement;
  readonly values: readonly unknown[];
  readonly source: PageSource;
  readonly limit: number;
  readonly backward: boolean;
}

/**
 * Plans the statement for one page under each parent: one round trip, whatever the number of parents or rows.
 * Keyset pagination: a page is found by comparing the order's columns with the cursor's, never by counting
 * rows off, so that it costs the same at any depth and repeats or skips nobody when rows come and go.
 * @param parents keys of the parents; null for a connection at the root
 * @throws ServiceError INVALID_CURSOR
 */
export function planPage(
  source: PageSource,
  page: PageArguments,
  selection: PageSelection,
  parents: readonly number[] | null,
): PageQuery {
  const { values, order } = source;
  const backward = page.first === undefined || page.first === null;
  const limit = (backward ? page.last : page.first) ?? 0;
  const parentKeys = parents === null ? null : values.add(parents);
  const after = bound(source, page.after, 'after');
  const before = bound(source, page.before, 'before');
  const [forwards, backwards] = order.direction === 'ASC' ? ['>', '<'] : ['<', '>'];
  const [along, opposite] =
    order.direction === 'ASC' ? (['asc', 'desc'] as const) : (['desc', 'asc'] as const);

  const rows = [...source.conditions];
  if (source.parent !== null) rows.push(`${source.parent} = parent.key`);
  const within = [...rows];
  if (after !== null) within.push(`${after.columns} ${forwards} ${after.values}`);
  if (before !== null) within.push(`${before.columns} ${backwards} ${before.values}`);

  // Looked for from the cursor outwards, where its own row is the first to be met, and mostly still there.
  const exists = (comparison: string, outwards: 'asc' | 'desc') =>
    `(select true from ${source.from} ${where([...rows, comparison])} order by ${orderBy(order, outwards)} limit 1)`;
  const total = selection.totalCount
    ? (source.total ?? `(select count(*)::integer from ${source.from} ${where(rows)})`)
    : 'null::integer';
  const behind =
    after !== null && selection.hasPreviousPage
      ? exists(`${after.columns} ${backwards}= ${after.values}`, opposite)
      : 'false';
  const ahead =
    before !== null && selection.hasNextPage
      ? exists(`${before.columns} ${forwards}= ${before.values}`, along)
      : 'false';

  const direction = backward ? opposite : along;
  const keys = order.columns.map(({ sql, type }, index) => `${outputOf(sql, type)} as order_${index}`);
  const columns = [...source.columns.map((column, index) => `${column} as column_${index}`), ...keys];
  // One row more than the page tells whether there is a next one.
  const rowLimit = selection.rows || selection.hasNextPage || selection.hasPreviousPage ? limit + 1 : 0;

  const text = [
    `select parent.position, facts.total, facts.behind, facts.ahead, page.*, facts.revision`,
    parentKeys === null
      ? `from (select 1 as position) parent`
      : `from unnest(${parentKeys}::integer[]) with ordinality parent (key, position)`,
    `cross join lateral (`,
    `  select ${total} as total, ${behind} as behind, ${ahead} as ahead, ${REVISION} as revision`,
    `) facts`,
    `left join lateral (`,
    `  select ${columns.join(', ')}`,
    `  from ${source.from}`,
    `  ${where(within)}`,
    `  order by ${orderBy(order, direction)}`,
    `  limit ${values.add(rowLimit)}`,
    `) page on true`,
    `order by parent.position, ${order.columns.map((_, index) => `page.order_${index} ${direction}`).join(', ')}`,
  ].join('\n');

  return {
    statement: statement(text, { tellsRevision: true }),
    values: values.all,
    source,
    limit,
    backward,
  };
}

function orderBy({ columns }: PageOrder, direction: 'asc' | 'desc'): string {
  return columns.map(({ sql }) => `${sql} ${direction}`).join(', ');
}

function where(conditions: readonly string[]): string {
  return conditions.length === 0 ? '' : `where ${conditions.join(' and ')}`;
}

/** A cursor as two sides of a row comparison; null when there is no cursor. */
function bound(
  { binding, order, values }: PageSource,
  cursor: string | null | undefined,
  argument: 'after' | 'before',
): { columns: string; values: string } | null {
  if (cursor === undefined || cursor === null) return null;
  const types = order.columns.map(({ type }) => (type === 'text' ? 'string' : 'number'));
  const place = decodeCursor(cursor, binding, types, argument);
  return {
    columns: `(${order.columns.map((column) => column.sql).join(', ')})`,
    values: `(${order.columns.map((column, index) => inputOf(column, place[index] ?? '', values)).join(', ')})`,
  };
}

function inputOf({ type }: OrderColumn, value: CursorValue, values: Values): string {
  switch (type) {
    case 'text':
      return `${values.add(value)}::text`;
    case 'integer':
      return `${values.add(clamp(Number(value), 2 ** 31 - 1))}::integer`;
    case 'bigint':
      return `${values.add(Number(value))}::bigint`;
    case 'timestamp':
      return `${values.add(new Date(Math.max(0, clamp(Number(value), LAST_INSTANT))).toISOString())}::timestamptz`;
  }
}

/** Milliseconds; further away is beyond what PostgreSQL and ISO 8601 with four digits write. */
const LAST_INSTANT = Date.UTC(9999, 0);

/** A forged cursor may hold any whole number; a column holds fewer. */
function clamp(value: number, bound: number): number {
  return Math.max(-bound, Math.min(bound, value));
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
