import { type CursorValue, encodeCursors } from '../../common/cursor.js';
import type { KeySeal } from '../../common/key-seal.js';
import type { PageArguments, PageSelection } from '../../common/page.js';
import { type PageReader, revisionOf } from '../statements/statement.js';
import { type PageQuery, type PageRow, type PageSource, planPage } from './page-query.js';

/** One page of rows, in the order of the connection, whether it was requested by `first` or `last`. */
export class Page<Row extends unknown[]> {
  readonly rows: readonly Row[];
  readonly hasNextPage: boolean;
  readonly hasPreviousPage: boolean;
  /** The total if it was selected, otherwise 0. */
  readonly totalCount: number;
  /** The selected values of each order column, in the order in which they were read. */
  private readonly places: readonly (readonly CursorValue[])[];
  /** Additional values in cursors. */
  private readonly cursorExtras: readonly CursorValue[];
  /** The cursors of `places`; null before the first one is requested. */
  private cursors: readonly string[] | null = null;

  /** @param row what was read for the parent and its page */
  constructor(
    private readonly query: PageQuery,
    row: PageRow | undefined,
    private readonly seal: KeySeal,
  ) {
    const { limit, backward } = query;
    const [, total, hasEarlierRows, hasLaterRows] = row ?? [];
    const columns = (row?.slice(FIRST, FIRST + query.width) ?? []) as (unknown[] | null)[];
    const read = rowsOf<Row>(query, columns);
    const beyond = read.length > limit;
    if (beyond) read.length = limit;
    this.rows = backward ? read.reverse() : read;
    this.hasNextPage = (!backward && beyond) || hasLaterRows === true;
    this.hasPreviousPage = (backward && beyond) || hasEarlierRows === true;
    this.totalCount = total ?? 0;
    this.cursorExtras =
      query.source.cursorsHaveRevision === true ? [revisionOf(query.statement, [row ?? []]) ?? ''] : [];
    // A source without columns has one that counts rows.
    this.places = columns.slice(Math.max(1, query.source.columns.length)) as CursorValue[][];
  }

  /** The cursor of a row, or null if there is no such row, or if its cursor was not selected. */
  cursorAt(index: number): string | null {
    const { query, places } = this;
    const { length } = this.rows;
    if (index < 0 || index >= length) return null;
    if (places.length === 0) return null;
    const read = query.backward ? length - 1 - index : index;
    const place = query.cursors === 'every' ? read : Math.sign(read);
    this.cursors ??= encodeCursors(this.seal, query.source.binding, places, this.cursorExtras);
    return this.cursors[place] ?? null;
  }
}

/** A page of memberships that was read with its parent. */
export interface PreloadedPage {
  /** That of MembershipList.cacheKeyOf. */
  readonly cacheKey: string;
  readonly page: Page<unknown[]>;
}

export async function readPage<Row extends unknown[] = unknown[]>(
  reader: PageReader,
  source: PageSource,
  page: PageArguments,
  selection: PageSelection,
): Promise<Page<Row>> {
  const query = planPage(source, page, selection, null, reader.seal);
  const [row] = await reader.read<PageRow>(query.statement, query.values);
  return new Page<Row>(query, row, reader.seal);
}

/** Reads the page under each parent, in the order of the parents, in one statement. */
export async function readPages<Row extends unknown[] = unknown[]>(
  reader: PageReader,
  source: PageSource,
  page: PageArguments,
  selection: PageSelection,
  parents: readonly number[],
): Promise<Page<Row>[]> {
  const query = planPage(source, page, selection, parents, reader.seal);
  const rows = await reader.read<PageRow>(query.statement, query.values);
  // PostgreSQL usually returns this order, but does not guarantee it.
  rows.sort(([left], [right]) => Number(left) - Number(right));
  return rows.map((row) => new Page<Row>(query, row, reader.seal));
}

/** Looks up a planned parent with its page, in one statement. Null if there is no such parent. */
export async function readWithParent<Row extends unknown[] = unknown[]>(
  reader: PageReader,
  query: PageQuery,
): Promise<{ parent: unknown[]; page: Page<Row> } | null> {
  const [row] = await reader.read<PageRow>(query.statement, query.values);
  const parent = row?.slice(FIRST + query.width, -1) ?? [];
  return (parent[0] ?? null) === null ? null : { parent, page: new Page<Row>(query, row, reader.seal) };
}

/** Where the columns of the page begin in a PageRow. Those of the parent follow. */
const FIRST = 4;

/** The rows of a page. An empty page has null for each column. */
function rowsOf<Row extends unknown[]>(query: PageQuery, columns: readonly (unknown[] | null)[]): Row[] {
  const count = columns[0]?.length ?? 0;
  const width = query.source.columns.length;
  const rows: Row[] = [];
  for (let index = 0; index < count; index++) {
    const row = new Array<unknown>(width);
    for (let column = 0; column < width; column++) row[column] = columns[column]?.[index];
    rows.push(row as Row);
  }
  return rows;
}
