import type { KeySeal } from '../../common/key-seal.js';
import type { PageArguments, PageSelection, SelectedCursors } from '../../common/page.js';
import {
  type Bound,
  bound,
  type PageSource,
  type Parents,
  selectParents,
  type ParentLookup,
} from './page-source.js';
import { inUnionBranches, orderBy, selectPage, where } from './select-rows.js';
import { REVISION, type Statement, statement } from '../statements/statement.js';

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
