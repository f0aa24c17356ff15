import { type CursorValue, decodeCursor } from '../../common/cursor.js';
import { opposite, type OrderDirection } from '../../common/page.js';
import type { OrderColumn, PageSource } from './page-source.js';
import type { Values } from '../statements/values.js';

/** One end of a page. */
export interface Bound {
  /** What rows of the page have to be, in SQL. */
  readonly beyond: string;
  /** What rows on the other side are: the one of the cursor is the first of them. */
  readonly outside: string;
  /** From the cursor away from the page. */
  readonly outwards: OrderDirection;
}

/** What a cursor means for rows; null when there is no cursor. */
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

/** Milliseconds; further away is beyond what PostgreSQL and ISO 8601 with four digits write. */
const LAST_INSTANT = Date.UTC(9999, 0);

/** A forged cursor may hold any whole number; a column holds fewer. */
function clamp(value: number, bound: number): number {
  return Math.max(-bound, Math.min(bound, value));
}
