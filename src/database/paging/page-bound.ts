import { type CursorValue, decodeCursor } from '../../common/cursor.js';
import { opposite, type SortDirection } from '../../common/page.js';
import type { OrderColumn, PageSource } from './page-source.js';
import type { Values } from '../statements/values.js';

/** One end of a page. */
export interface Bound {
  /** SQL condition for the rows of the page. */
  readonly beyond: string;
  /** SQL condition for the rows on the other side. The row of the cursor is the first of them. */
  readonly outside: string;
  /** The direction from the cursor away from the page. */
  readonly outwards: SortDirection;
}

/** Returns the bound that a cursor defines; null if there is no cursor. */
export function bound(
  { binding, order, values, cursorsTellRevision = false }: PageSource,
  cursor: string | null | undefined,
  argument: 'after' | 'before',
): Bound | null {
  if (cursor === undefined || cursor === null) return null;
  const types = order.columns.map(({ type }) => (type === 'text' ? 'string' : 'number'));
  const place = decodeCursor(cursor, binding, cursorsTellRevision ? [...types, 'string'] : types, argument);
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

/**
 * Milliseconds since 1970. Later instants cannot be written by PostgreSQL and by ISO 8601 with four-digit
 * years.
 */
const LAST_INSTANT = Date.UTC(9999, 0);

/** A forged cursor may contain any whole number; the range of a column is smaller. */
function clamp(value: number, bound: number): number {
  return Math.max(-bound, Math.min(bound, value));
}
