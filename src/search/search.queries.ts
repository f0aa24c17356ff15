import { bindCursor } from '../common/cursor.js';
import { foldId, foldSearch } from '../common/fold.js';
import type { PageSelection } from '../common/page.js';
import type { PageSource } from '../database/paging/page-source.js';
import { escapeLike, searchCondition } from '../database/paging/search-condition.js';
import { Values } from '../database/statements/values.js';
import { Group } from '../groups/group.model.js';
import { LISTED_GROUP, LISTED_USER, listedAmong, type Shown } from '../memberships/shown.js';
import { User } from '../users/user.model.js';
import type { SearchArguments } from './search.inputs.js';
import { SearchKind, type SearchResult } from './search.model.js';

/** How kinds are told apart in rows and cursors. */
const KINDS: readonly SearchKind[] = [SearchKind.USER, SearchKind.GROUP];

const TABLES = {
  [SearchKind.USER]: { from: 'users u', alias: 'u', side: LISTED_USER },
  [SearchKind.GROUP]: { from: 'groups g', alias: 'g', side: LISTED_GROUP },
} as const;

/** The properties of both that are instants. */
const INSTANTS = ['createdAt', 'updatedAt'];

/** What is read of each kind, and the properties of both together, in the order of the columns behind the kind. */
export interface Searched {
  readonly shown: Readonly<Record<SearchKind, Shown>>;
  readonly properties: readonly string[];
}

export function searchedOf({ node }: PageSelection): Searched {
  const shown = {
    [SearchKind.USER]: listedAmong(LISTED_USER, LISTED_GROUP, node),
    [SearchKind.GROUP]: listedAmong(LISTED_GROUP, LISTED_USER, node),
  };
  return { shown, properties: [...new Set(KINDS.flatMap((kind) => shown[kind].listed))] };
}

export function resultOf([kind, ...values]: unknown[], { properties }: Searched): SearchResult {
  const found = KINDS[Number(kind)] === SearchKind.USER ? new User() : new Group();
  // What the other kind has is null here, and in nobody's way.
  return Object.assign(found, Object.fromEntries(properties.map((name, index) => [name, values[index]])));
}

/**
 * What is found, best first: the one whose id it is, then where a word of the id or name begins so, then the
 * rest; by name among equals.
 * @throws BadUserInputError when the query is too short or too long
 */
export function searchSource({ query, kinds }: SearchArguments, searched: Searched): PageSource {
  const values = new Values();
  const folded = foldSearch(query, 'query');
  const id = foldId(query.trim());
  const wanted = KINDS.filter((kind) => kinds === undefined || kinds === null || kinds.includes(kind));
  const ranks = {
    exact: `${values.add(id)}::text`,
    prefix: `${values.add(`% ${escapeLike(folded)}%`)}::text`,
  };
  const condition = (kind: SearchKind) =>
    wanted.includes(kind) ? searchCondition(TABLES[kind].alias, folded, values) : 'false';
  const asked = wanted.length === 0 ? KINDS : wanted;
  return {
    binding: bindCursor('search', {}, { id, folded, wanted }),
    from: `(${asked.map((kind) => foundOf(kind, searched, condition(kind), ranks)).join(' union all ')}) r`,
    columns: ['r.kind', ...searched.properties.map((_, index) => columnOf(index))],
    instants: searched.properties.flatMap((name, index) => (INSTANTS.includes(name) ? columnOf(index) : [])),
    parent: null,
    order: {
      columns: [
        { sql: 'r.distance', type: 'integer' },
        { sql: 'r.sort_name', type: 'text' },
        { sql: 'r.kind', type: 'integer' },
        { sql: 'r.key', type: 'integer' },
      ],
      direction: 'ASC',
    },
    conditions: [],
    values,
  };
}

/** Where the other kind is not asked for, nothing else tells what the column is. */
function nothingFor(property: string): string {
  return INSTANTS.includes(property) ? 'null::timestamptz' : 'null';
}

function columnOf(index: number): string {
  return `r.property_${index}`;
}

function foundOf(
  kind: SearchKind,
  { shown, properties }: Searched,
  condition: string,
  ranks: { exact: string; prefix: string },
): string {
  const { from, alias, side } = TABLES[kind];
  const { listed } = shown[kind];
  const columns = [
    `${KINDS.indexOf(kind)} as kind`,
    `${alias}.key`,
    `${alias}.sort_name`,
    `case when ${alias}.id_folded = ${ranks.exact} then 0 when ${alias}.search_text like ${ranks.prefix} then 1 else 2 end as distance`,
    ...properties.map((name, index) => {
      const column = listed.includes(name) ? side.columns[name] : undefined;
      return `${column ?? nothingFor(name)} as property_${index}`;
    }),
  ];
  return `
    select ${columns.join(', ')}
    from ${from}
    where ${condition}`;
}
