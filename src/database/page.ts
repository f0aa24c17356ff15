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

  /** @param read what was read for it: first what is told of it, then its rows */
  constructor(
    private readonly query: PageQuery,
    [told, ...read]: readonly Row[],
  ) {
    const { limit, backward } = query;
    const beyond = read.length > limit;
    const ahead = this.fact(told, 'ahead') === true;
    const behind = this.fact(told, 'behind') === true;
    const shown = beyond ? read.slice(0, limit) : read;
    this.rows = backward ? shown.reverse() : shown;
    this.hasNextPage = backward ? ahead : beyond || ahead;
    this.hasPreviousPage = backward ? beyond || behind : behind;
    this.totalCount = Number(this.fact(told, 'total') ?? 0);
  }

  /** The cursor of a row; null where there is none. Only when cursors were selected. */
  cursorAt(index: number): string | null {
    const row = this.rows[index];
    if (row === undefined) return null;
    const { source, orderWidth } = this.query;
    if (orderWidth < source.order.columns.length) throw new Error('No cursors were selected');
    return encodeCursor(source.binding, row.slice(this.width - orderWidth, this.width) as CursorValue[]);
  }

  /** The columns of the parent that was looked for; null: it was not found. */
  parentIn([told]: readonly Row[]): unknown[] | null {
    const start = this.firstFact + this.query.facts.length;
    const parent = told?.slice(start, start + this.query.parentWidth) ?? [];
    return (parent[0] ?? null) === null ? null : parent;
  }

  /** How many columns of a row are its own. */
  private get width(): number {
    return this.query.source.columns.length + this.query.orderWidth;
  }

  private get firstFact(): number {
    return this.width + (this.query.isMany ? 1 : 0);
  }

  private fact(told: Row | undefined, fact: PageQuery['facts'][number]): unknown {
    const index = this.query.facts.indexOf(fact);
    return index < 0 ? undefined : told?.[this.firstFact + index];
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
  return new Page<Row>(query, await reader.read(query.statement, query.values));
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
  const rows = await reader.read<Row>(query.statement, query.values);
  return groupByParent(query, rows, parents.length).map((group) => new Page<Row>(query, group));
}

/** Reads a parent that was planned to be found, and the page under it, in one statement; null when there is none. */
export async function readWithParent<Row extends unknown[] = unknown[]>(
  reader: Reader,
  query: PageQuery,
): Promise<{ parent: unknown[]; page: Page<Row> } | null> {
  const rows = await reader.read<Row>(query.statement, query.values);
  const found = new Page<Row>(query, rows);
  const parent = found.parentIn(rows);
  return parent === null ? null : { parent, page: found };
}

function groupByParent<Row extends unknown[]>(
  { source, orderWidth, isMany }: PageQuery,
  rows: Row[],
  parents: number,
): Row[][] {
  if (!isMany) return [rows];
  const position = source.columns.length + orderWidth;
  const groups: Row[][] = Array.from({ length: parents }, () => []);
  for (const row of rows) groups[Number(row[position]) - 1]?.push(row);
  return groups;
}
