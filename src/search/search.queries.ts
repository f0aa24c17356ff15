import { bindCursor } from '../common/cursor.js';
import { foldId } from '../common/fold.js';
import type { PageSource } from '../database/page-query.js';
import { escapeLike, foldSearch, searchCondition } from '../database/search-condition.js';
import { Values } from '../database/values.js';
import type { SearchArguments } from './search.inputs.js';
import { SearchKind } from './search.model.js';

export type SearchRow = [kind: number, key: number];

/** How kinds are told apart in rows and cursors. */
export const KINDS: readonly SearchKind[] = [SearchKind.USER, SearchKind.GROUP];

const TABLES = { [SearchKind.USER]: 'users', [SearchKind.GROUP]: 'groups' } as const;

/**
 * What is found, best first: the one whose id it is, then where a word of the id or name begins so, then the
 * rest; by name among equals.
 * @throws BadUserInputError when the query is too short or too long
 */
export function searchSource({ query, kinds }: SearchArguments): PageSource {
  const values = new Values();
  const folded = foldSearch(query, 'query');
  const id = values.add(foldId(query.trim()));
  const prefix = values.add(`% ${escapeLike(folded)}%`);
  const wanted = KINDS.filter((kind) => kinds === undefined || kinds === null || kinds.includes(kind));
  const found = wanted.map(
    (kind) => `
      select ${KINDS.indexOf(kind)} as kind, t.key, t.sort_name,
        case when t.id_folded = ${id}::text then 0 when t.search_text like ${prefix}::text then 1 else 2 end as distance
      from ${TABLES[kind]} t
      where ${searchCondition('t', folded, values)}`,
  );
  const nothing = `select 0 as kind, 0 as key, ''::text as sort_name, 0 as distance where ${id}::text = ${prefix}::text and false`;
  return {
    binding: bindCursor('search', null, [folded, wanted]),
    from: `(${found.length > 0 ? found.join(' union all ') : nothing}) r`,
    columns: ['r.kind', 'r.key'],
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
