import type { Listing } from './listings.js';
import type { TestService } from '../servers/service.js';

export interface ListedPage {
  ids: string[];
  cursors: string[];
  hasNextPage: boolean;
  hasPreviousPage: boolean;
  totalCount: number;
}

/** A connection with nodes of any type. */
interface ConnectionAnswer {
  totalCount: number;
  nodes: Record<string, unknown>[];
  edges: { cursor: string; node: Record<string, unknown> }[];
  pageInfo: {
    hasNextPage: boolean;
    hasPreviousPage: boolean;
    startCursor: string | null;
    endCursor: string | null;
  };
}

/** Writes the operation for a range of a listing, for example `first: 3, after: "…"`. */
export function pageQuery(
  { parent, field, args, node }: Pick<Listing, 'parent' | 'field' | 'args' | 'node'>,
  range: string,
  selection = `totalCount nodes { ${node} } edges { cursor node { ${node} } }
    pageInfo { hasNextPage hasPreviousPage startCursor endCursor }`,
): string {
  return `{ ${parent.replace('%', `page: ${field}(${range} ${args}) { ${selection} }`)} }`;
}

/** Reads a range of a listing, and checks the properties of every page. */
export async function readListing(
  service: TestService,
  authorization: string,
  listing: Listing,
  range: string,
): Promise<ListedPage> {
  const data = await service.read(pageQuery(listing, range), { authorization });
  const { totalCount, nodes, edges, pageInfo } = findPage(data);
  const cursors = edges.map(({ cursor }) => cursor);
  expect(edges.map(({ node }) => node)).toEqual(nodes);
  expect([pageInfo.startCursor, pageInfo.endCursor]).toEqual([cursors[0] ?? null, cursors.at(-1) ?? null]);
  const { hasNextPage, hasPreviousPage } = pageInfo;
  return { ids: nodes.map(idOf), cursors, hasNextPage, hasPreviousPage, totalCount };
}

/** Reads only the cursors of a range, which has a query of its own. */
export async function readEnds(
  service: TestService,
  authorization: string,
  listing: Listing,
  range: string,
): Promise<(string | null)[]> {
  const query = pageQuery(listing, range, 'pageInfo { startCursor endCursor }');
  const { startCursor, endCursor } = findPage((await service.query(query, { authorization })).data).pageInfo;
  return [startCursor, endCursor];
}

/** Reads a listing in pages of a size, forward or backward. */
export async function walk(
  service: TestService,
  authorization: string,
  listing: Listing,
  size: number,
  direction: 'forwards' | 'backwards',
): Promise<Omit<ListedPage, 'totalCount' | 'hasNextPage' | 'hasPreviousPage'>> {
  const ids: string[] = [];
  const cursors: string[] = [];
  for (let bound: string | undefined; ;) {
    const forwards = direction === 'forwards';
    const end = bound === undefined ? '' : `, ${forwards ? 'after' : 'before'}: "${bound}"`;
    const page = await readListing(
      service,
      authorization,
      listing,
      `${forwards ? 'first' : 'last'}: ${size}${end}`,
    );
    if (forwards) {
      ids.push(...page.ids);
      cursors.push(...page.cursors);
    } else {
      ids.unshift(...page.ids);
      cursors.unshift(...page.cursors);
    }
    expect([page.totalCount, forwards ? page.hasPreviousPage : page.hasNextPage]).toEqual([
      listing.expected.length,
      bound !== undefined,
    ]);
    if (!(forwards ? page.hasNextPage : page.hasPreviousPage)) return { ids, cursors };
    bound = page.cursors.at(forwards ? -1 : 0);
  }
}

function findPage(data: unknown): ConnectionAnswer {
  const found = data as Record<string, unknown>;
  if ('page' in found) return found['page'] as ConnectionAnswer;
  const [inside] = Object.values(found);
  return findPage(inside);
}

function idOf(node: Record<string, unknown>): string {
  const [value] = Object.values(node);
  return typeof value === 'string' ? value : idOf(value as Record<string, unknown>);
}
