import type { CursorBinding } from '../../common/cursor.js';
import type { SortDirection } from '../../common/page.js';
import type { Values } from '../statements/values.js';

/** A column by which pages are ordered. It is never null, and the last one of an order is unique. */
export interface OrderColumn {
  readonly sql: string;
  readonly type: 'text' | 'integer' | 'bigint' | 'timestamp';
}

export interface PageOrder {
  readonly columns: readonly OrderColumn[];
  readonly direction: SortDirection;
}

/** The rows of a connection: one kind of rows, in one order, under one or many parents. */
export interface PageSource {
  /** The connection, order and filter to which cursors are bound. */
  readonly binding: CursorBinding;
  /**
   * Whether a cursor also contains, after the order values, the id of the revision from which its row was
   * read.
   */
  readonly cursorsTellRevision?: boolean;
  readonly from: string;
  readonly columns: readonly string[];
  /** The columns that are instants. JSON has no type for them; they are returned as Date objects. */
  readonly instants: readonly string[];
  /** Column that holds the parent's key; null for a connection at the root. */
  readonly parent: string | null;
  readonly order: PageOrder;
  /** SQL conditions for rows, with placeholders from `values`. */
  readonly conditions: readonly string[];
  /**
   * Conditions of union branches: a row meets exactly one of them, and each matches a range of an index in
   * the order of the page. Rows are selected from each branch and merged.
   */
  readonly stretches?: readonly string[];
  readonly values: Values;
  /** SQL that returns the total faster than counting, if available. */
  readonly total?: string;
}

/** A parent that is looked up by its id and read together with its page. */
export interface SoughtParent {
  /** Its table, with the alias that its columns use. */
  readonly from: string;
  /** SQL for its key. */
  readonly key: string;
  /** SQL condition for the parent, with placeholders from the values of the source. */
  readonly condition: string;
  /** Its columns, with the key first. */
  readonly columns: readonly string[];
  /** SQL for the number of elements on all pages without a filter. */
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
