import type { CursorBinding } from '../../common/cursor.js';
import type { OrderDirection } from '../../common/page.js';
import type { Values } from '../statements/values.js';

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
  /** Whether a cursor also tells the id of the revision from which its row was read, after the values of the order. */
  readonly cursorsTellRevision?: boolean;
  readonly from: string;
  readonly columns: readonly string[];
  /** Those of the columns that are instants: JSON has no form for them. They come as a Date. */
  readonly instants: readonly string[];
  /** Column that holds the parent's key; null for a connection at the root. */
  readonly parent: string | null;
  readonly order: PageOrder;
  /** What rows have to be, in SQL, with placeholders from `values`. */
  readonly conditions: readonly string[];
  /**
   * Conditions of which rows have to meet one, and none meets two: each has a stretch of an index in the page's order.
   * Rows are looked for in each stretch, and merged.
   */
  readonly stretches?: readonly string[];
  readonly values: Values;
  /** SQL that gives the total faster than counting, where there is such. */
  readonly total?: string;
}

/** A parent that is looked for by its id, and read together with its page. */
export interface SoughtParent {
  /** Its table, with an alias: what its columns are spelled with. */
  readonly from: string;
  /** SQL of its key. */
  readonly key: string;
  /** What it has to be, in SQL, with placeholders from the values of the source. */
  readonly condition: string;
  /** Its key first. */
  readonly columns: readonly string[];
  /** SQL of how many there are on all of its pages together, where nothing filters them. */
  readonly total: string;
}

/** The columns of a sort name and of the primary key. */
export type NameColumns = readonly [sortName: string, key: string];

/** The order by name, then by key. */
export function byName([sortName, key]: NameColumns): OrderColumn[] {
  return [
    { sql: sortName, type: 'text' },
    { sql: key, type: 'integer' },
  ];
}

/** The order by the time of the last change, then by key. */
export function byUpdate(alias: string): OrderColumn[] {
  return [
    { sql: `${alias}.updated_at`, type: 'timestamp' },
    { sql: `${alias}.key`, type: 'integer' },
  ];
}
