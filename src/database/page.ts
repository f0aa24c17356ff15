import { type CursorValue, encodeCursor } from '../common/cursor.js';
import type { PageArguments, PageSelection } from '../common/page.js';
import { type PageQuery, planPage } from './page-query.js';
import type { PageSource } from './page-source.js';
import type { Reader } from './reader.js';

/** One page of rows, in the connection's order, whichever end it was asked from. */
export class Page<Row extends unknown[]> {
  /** Rows as they were read: the source's columns first. */
  readonly rows: readonly Row[];
  readonly hasNextPage: boolean;
  readonly hasPreviousPage: boolean;
  /** Only when it was selected, else 0. */
  readonly totalCount: number;

  /** @param told what was read of the parent and of its page */
  constructor(
    private readonly query: PageQuery,
    told: readonly unknown[] | undefined,
  ) {
    const { limit, backward } = query;
    const read = rowsOf<Row>(query, told);
    const beyond = read.length > limit;
    const ahead = factIn(query, told, 'ahead') === true;
    const behind = factIn(query, told, 'behind') === true;
    if (beyond) read.length = limit;
    this.rows = backward ? read.reverse() : read;
    this.hasNextPage = backward ? ahead : beyond || ahead;
    this.hasPreviousPage = backward ? beyond || behind : behind;
    this.totalCount = Number(factIn(query, told, 'total') ?? 0);
  }

  /** The cursor of a row; null where there is none. Only when cursors were selected. */
  cursorAt(index: number): string | null {
    const row = this.rows[index];
    if (row === undefined) return null;
    const { source, orderWidth } = this.query;
    if (orderWidth < source.order.columns.length) throw new Error('No cursors were selected');
    return encodeCursor(source.binding, row.slice(source.columns.length) as CursorValue[]);
  }
}

/** Reads one page of a connection at the root. */
export async function readPage<Row extends unknown[] = unknown[]>(
  reader: Reader,
  source: PageSource,
  page: PageArguments,
  selection: PageSelection,
): Promise<Page<Row>> {
  const query = planPage(source, page, selection, null);
  const [told] = await reader.read(query.statement, query.values);
  return new Page<Row>(query, told);
}

/** Reads the page under each parent, in the order of the parents, in one statement. */
export async function readPages<Row extends unknown[] = unknown[]>(
  reader: Reader,
  source: PageSource,
  page: PageArguments,
  selection: PageSelection,
  parents: readonly number[],
): Promise<Page<Row>[]> {
  const query = planPage(source, page, selection, parents);
  const told = await reader.read(query.statement, query.values);
  // Most of the time in this order already; PostgreSQL does not promise it.
  if (query.isMany) told.sort(([left], [right]) => Number(left) - Number(right));
  return told.map((each) => new Page<Row>(query, each));
}

/** Reads a parent that was planned to be found, and the page under it, in one statement; null when there is none. */
export async function readWithParent<Row extends unknown[] = unknown[]>(
  reader: Reader,
  query: PageQuery,
): Promise<{ parent: unknown[]; page: Page<Row> } | null> {
  const [told] = await reader.read(query.statement, query.values);
  const start = placeOfParent(query);
  const parent = told?.slice(start, start + query.parentWidth) ?? [];
  return (parent[0] ?? null) === null ? null : { parent, page: new Page<Row>(query, told) };
}

function factIn(
  { isMany, facts }: PageQuery,
  told: readonly unknown[] | undefined,
  fact: PageQuery['facts'][number],
): unknown {
  const index = facts.indexOf(fact);
  return index < 0 ? undefined : told?.[(isMany ? 1 : 0) + index];
}

function placeOfParent({ isMany, facts }: PageQuery): number {
  return (isMany ? 1 : 0) + facts.length;
}

/** The rows of a page that came column by column; one that is empty has null for each. */
function rowsOf<Row extends unknown[]>(query: PageQuery, told: readonly unknown[] | undefined): Row[] {
  const packed = told?.[placeOfParent(query) + query.parentWidth];
  // Where no row was asked for, the revision is in this place.
  const columns = Array.isArray(packed) ? (packed as (unknown[] | null)[]) : [];
  const { columns: named, instants } = query.source;
  for (const instant of instants) {
    const column = columns[named.indexOf(instant)];
    column?.forEach((value, index) => (column[index] = value === null ? null : new Date(Number(value))));
  }
  const count = columns[0]?.length ?? 0;
  const rows: Row[] = [];
  for (let index = 0; index < count; index++) rows.push(columns.map((column) => column?.[index]) as Row);
  return rows;
}
