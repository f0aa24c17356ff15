import { type CursorBinding, type CursorValue, decodeCursor } from '../../common/cursor.js';
import type { KeySeal } from '../../common/key-seal.js';
import { type SortDirection, opposite } from '../../common/page.js';
import type { Values } from '../statements/statement.js';

/** A column by which pages are ordered. It is never null, and the last one of an order is unique. */
export interface OrderColumn {
  readonly sql: string;
  readonly type: 'text' | 'integer' | 'bigint' | 'timestamp';
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
  /** The columns that are instants. JSON has no type for them; they are returned as Date objects. */
  readonly instants: readonly string[];
  /** Column that holds the parent's key; null for a connection at the root. */
  readonly parent: string | null;
  /** SQL for what that column holds, given SQL for the key. Default: the key. */
  readonly parentValue?: (key: string) => string;
  readonly order: PageOrder;
  readonly conditions: readonly string[];
  /** Conditions of union branches. A row meets exactly one; each is a range of an index in page order. */
  readonly unionBranches?: readonly string[];
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
  /** SQL for the number of elements on all pages without a filter. */
  readonly total: string;
}

/** The parents of pages: their table and columns, and the condition for rows under them. */
export interface Parents {
  readonly tables: readonly string[];
  readonly conditions: readonly string[];
  /** Column with the position of each of several parents. */
  readonly position: readonly string[];
  readonly columns: readonly string[];
  readonly total?: string;
}

export function selectParents(
  { parent, parentValue = (key) => key, values }: PageSource,
  parents: readonly number[] | ParentLookup | null,
): Parents {
  const none = { tables: [], conditions: [], position: [], columns: [] };
  if (parents === null || parent === null) return none;
  const one = { ...none, conditions: [`${parent} = ${parentValue('parent.key')}`] };
  if ('from' in parents) {
    // Returns one row even if the parent does not exist. In that row only the revision is not null.
    const { from, key, condition, columns, total } = parents;
    const table = `(values (1)) one left join ${from} on ${condition} cross join lateral (select ${key} as key) parent`;
    return { ...one, tables: [table], columns, total };
  }
  if (parents.length === 1)
    return { ...one, tables: [`(select ${values.add(parents[0])}::integer as key) parent`] };
  const table = `unnest(${values.add(parents)}::integer[]) with ordinality parent (key, position)`;
  return { ...one, tables: [table], position: ['parent.position'] };
}

export type NameColumns = readonly [sortName: string, key: string];

export function byName([sortName, key]: NameColumns): OrderColumn[] {
  return [
    { sql: sortName, type: 'text' },
    { sql: key, type: 'integer' },
  ];
}

export function byTime(time: string, key: string): OrderColumn[] {
  return [
    { sql: time, type: 'timestamp' },
    { sql: key, type: 'integer' },
  ];
}

export interface Bound {
  /** SQL condition for the rows of the page. */
  readonly beyond: string;
  /** SQL condition for the rows on the other side. The row of the cursor is the first of them. */
  readonly outside: string;
  /** The direction from the cursor away from the page. */
  readonly outwards: SortDirection;
}

export function bound(
  { binding, order, values, cursorsHaveRevision = false }: PageSource,
  cursor: string | null | undefined,
  argument: 'after' | 'before',
  seal: KeySeal,
): Bound | null {
  if (cursor === undefined || cursor === null) return null;
  const place = decodePlace({ binding, order, cursorsHaveRevision }, cursor, argument, seal);
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

function decodePlace(
  { binding, order, cursorsHaveRevision }: Pick<PageSource, 'binding' | 'order' | 'cursorsHaveRevision'>,
  cursor: string,
  argument: 'after' | 'before',
  seal: KeySeal,
): readonly CursorValue[] {
  const types = order.columns.map(({ type }, index) => {
    if (index === order.columns.length - 1) return 'key';
    return type === 'text' ? 'string' : 'number';
  });
  const extras = cursorsHaveRevision === true ? (['string'] as const) : [];
  return decodeCursor(seal, cursor, binding, [...types, ...extras], argument);
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

/** Milliseconds since 1970. PostgreSQL and ISO 8601 with four-digit years have no later instants. */
const LAST_INSTANT = Date.UTC(9999, 0);

/** A forged cursor may contain any whole number; the range of a column is smaller. */
function clamp(value: number, bound: number): number {
  return Math.max(-bound, Math.min(bound, value));
}
