import { bindCursor } from '../common/cursor.js';
import { foldId } from '../common/fold.js';
import type { PageSource } from '../database/page-source.js';
import { escapeLike, foldSearch, searchCondition } from '../database/search-condition.js';
import { Values } from '../database/values.js';
import { GROUP_COLUMNS, groupOf, type GroupRow } from '../groups/group.queries.js';
import { USER_COLUMNS, userOf, type UserRow } from '../users/user.queries.js';
import type { SearchArguments } from './search.inputs.js';
import { SearchKind, type SearchResult } from './search.model.js';

/** The columns of both kinds, of which one has nothing but nulls. */
export type SearchRow = [kind: number, ...columns: unknown[]];

/** How kinds are told apart in rows and cursors. */
const KINDS: readonly SearchKind[] = [SearchKind.USER, SearchKind.GROUP];

const TABLES = {
  [SearchKind.USER]: { from: 'users u', alias: 'u', columns: USER_COLUMNS, prefix: 'user' },
  [SearchKind.GROUP]: { from: 'groups g', alias: 'g', columns: GROUP_COLUMNS, prefix: 'group' },
} as const;

const COLUMNS = KINDS.flatMap((kind) => TABLES[kind].columns.map((_, index) => nameOf(kind, index)));

export function resultOf([kind, ...columns]: SearchRow): SearchResult {
  return KINDS[kind] === SearchKind.USER
    ? userOf(columns.slice(0, USER_COLUMNS.length) as UserRow)
    : groupOf(columns.slice(USER_COLUMNS.length) as GroupRow);
}

/**
 * What is found, best first: the one whose id it is, then where a word of the id or name begins so, then the
 * rest; by name among equals.
 * @throws BadUserInputError when the query is too short or too long
 */
export function searchSource({ query, kinds }: SearchArguments): PageSource {
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
  const searched = wanted.length === 0 ? KINDS : wanted;
  return {
    binding: bindCursor('search', {}, { id, folded, wanted }),
    from: `(${searched.map((kind) => foundOf(kind, condition(kind), ranks)).join(' union all ')}) r`,
    columns: ['r.kind', ...COLUMNS.map((name) => `r.${name}`)],
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

function foundOf(kind: SearchKind, condition: string, ranks: { exact: string; prefix: string }): string {
  const { from, alias } = TABLES[kind];
  const columns = KINDS.flatMap((each) =>
    TABLES[each].columns.map(
      (column, index) => `${each === kind ? column : 'null'} as ${nameOf(each, index)}`,
    ),
  );
  return `
    select ${KINDS.indexOf(kind)} as kind, ${alias}.key, ${alias}.sort_name,
      case when ${alias}.id_folded = ${ranks.exact} then 0 when ${alias}.search_text like ${ranks.prefix} then 1 else 2 end as distance,
      ${columns.join(', ')}
    from ${from}
    where ${condition}`;
}

function nameOf(kind: SearchKind, index: number): string {
  return `${TABLES[kind].prefix}_${index}`;
}
