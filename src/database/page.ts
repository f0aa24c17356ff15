import type { CursorBinding, CursorValue } from '../common/cursor.js';
import type { PageArguments, PageSelection } from '../common/page.js';
import { type PageQuery, type PageSource, planPage } from './page-query.js';
import type { Reader } from './reader.js';

/** One page of rows, in the connection's order, whichever end it was asked from. */
export interface Page<Row extends unknown[]> {
  readonly rows: readonly Row[];
  /** Each row's place in the order, for its cursor. */
  readonly places: readonly CursorValue[][];
  readonly binding: CursorBinding;
  readonly hasNextPage: boolean;
  readonly hasPreviousPage: boolean;
  /** Only when it was selected, else 0. */
  readonly totalCount: number;
}

/** Reads one page of a connection at the root. */
export async function readPage<Row extends unknown[]>(
  reader: Reader,
  source: PageSource,
  page: PageArguments,
  selection: PageSelection,
): Promise<Page<Row>> {
  const query = planPage(source, page, selection, null);
  return pageOf<Row>(query, await reader.read(query.statement, query.values));
}

/** Reads the page under each parent, in the order of the parents, in one statement. */
export async function readPages<Row extends unknown[]>(
  reader: Reader,
  source: PageSource,
  page: PageArguments,
  selection: PageSelection,
  parents: readonly number[],
): Promise<Page<Row>[]> {
  const query = planPage(source, page, selection, parents);
  const rows = await reader.read(query.statement, query.values);
  return groupByParent(rows, parents.length).map((group) => pageOf<Row>(query, group));
}

// The columns in front of a source's own.
const POSITION = 0;
const TOTAL = 1;
const BEHIND = 2;
const AHEAD = 3;
const LEADING = 4;
// And behind them: the revision.
const TRAILING = 1;

function groupByParent(rows: unknown[][], parents: number): unknown[][][] {
  const groups: unknown[][][] = Array.from({ length: parents }, () => []);
  for (const row of rows) groups[Number(row[POSITION]) - 1]?.push(row);
  return groups;
}

function pageOf<Row extends unknown[]>(query: PageQuery, group: unknown[][]): Page<Row> {
  const width = query.source.columns.length;
  const first = group[0] ?? [];
  // A parent without rows has one line, with nothing in it but the facts: no key, which comes last in every order.
  const found = group.filter((line) => line[line.length - 1 - TRAILING] !== null);
  const beyond = found.length > query.limit;
  const shown = found.slice(0, query.limit);
  if (query.backward) shown.reverse();
  return {
    rows: shown.map((line) => line.slice(LEADING, LEADING + width) as Row),
    places: shown.map((line) => line.slice(LEADING + width, -TRAILING) as CursorValue[]),
    binding: query.source.binding,
    hasNextPage: query.backward ? first[AHEAD] === true : beyond || first[AHEAD] === true,
    hasPreviousPage: query.backward ? beyond || first[BEHIND] === true : first[BEHIND] === true,
    totalCount: Number(first[TOTAL] ?? 0),
  };
}
