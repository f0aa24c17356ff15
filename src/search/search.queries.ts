import { bindCursor } from '../common/cursor.js';
import { foldId, foldSearch } from '../common/fold.js';
import type { PageSelection, SelectedFields } from '../common/page.js';
import type { ProjectedColumns, Projection } from '../database/fields/projection.js';
import type { PageSource } from '../database/paging/page-source.js';
import { escapeLike, searchCondition } from '../database/fields/filter-conditions.js';
import { Values } from '../database/statements/statement.js';
import type { Group } from '../groups/group.model.js';
import type { User } from '../users/user.model.js';
import { type SearchArguments, SearchKind, type SearchResult } from './search.model.js';

/** The numbers of the kinds in rows and cursors. */
const KINDS: readonly SearchKind[] = [SearchKind.USER, SearchKind.GROUP];

const TABLES = {
  [SearchKind.USER]: { from: 'users u', alias: 'u' },
  [SearchKind.GROUP]: { from: 'groups g', alias: 'g' },
} as const;

/** What is read of each kind, and the properties of both kinds in the order of the columns after the kind. */
export interface SearchColumns {
  readonly ofKind: Readonly<Record<SearchKind, ProjectedColumns>>;
  readonly properties: readonly string[];
}

export class SearchQuery {
  private readonly projections: Readonly<Record<SearchKind, Projection<User> | Projection<Group>>>;

  constructor(
    private readonly users: Projection<User>,
    private readonly groups: Projection<Group>,
  ) {
    this.projections = { [SearchKind.USER]: users, [SearchKind.GROUP]: groups };
  }

  select({ node }: PageSelection): SearchColumns {
    const ofKind = {
      [SearchKind.USER]: this.users.select(fieldsOf(this.users, this.groups, node)),
      [SearchKind.GROUP]: this.groups.select(fieldsOf(this.groups, this.users, node)),
    };
    return { ofKind, properties: [...new Set(KINDS.flatMap((kind) => ofKind[kind].properties))] };
  }

  mapRow([kind, ...values]: unknown[], { properties }: SearchColumns): SearchResult {
    // Properties of the other kind are null, and no field of this kind reads them.
    const columns = { properties, columns: [] };
    return this.projections[KINDS[Number(kind)] ?? SearchKind.GROUP].mapRow(values, columns);
  }

  /**
   * Best first: an exact id, then words that begin with the text, then the rest; by name among equals.
   * @throws BadUserInputError when the query is too short or too long
   */
  sourceOf({ query, kinds }: SearchArguments, columns: SearchColumns): PageSource {
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
    const union = searched.map((kind) => this.selectFound(kind, columns, condition(kind), ranks));
    return {
      binding: bindCursor('search', {}, { id, folded, wanted }),
      from: `(${union.join(' union all ')}) r`,
      columns: ['r.kind', ...columns.properties.map((_, index) => columnOf(index))],
      instants: columns.properties.flatMap((name, index) => (this.isInstant(name) ? columnOf(index) : [])),
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

  private selectFound(
    kind: SearchKind,
    { ofKind, properties }: SearchColumns,
    condition: string,
    ranks: { exact: string; prefix: string },
  ): string {
    const { from, alias } = TABLES[kind];
    const columns = [
      `${KINDS.indexOf(kind)} as kind`,
      `${alias}.key`,
      `${alias}.sort_name`,
      `case when ${alias}.id_folded = ${ranks.exact} then 0 when ${alias}.search_text like ${ranks.prefix} then 1 else 2 end as distance`,
      ...properties.map((name, index) => {
        const isRead = ofKind[kind].properties.includes(name);
        // Where only one kind is searched, nothing else says what type a null has.
        const none = this.isInstant(name) ? 'null::timestamptz' : 'null';
        return `${isRead ? (this.projections[kind].columns[name] ?? none) : none} as property_${index}`;
      }),
    ];
    return `
    select ${columns.join(', ')}
    from ${from}
    where ${condition}`;
  }

  private isInstant(name: string): boolean {
    return [this.users, this.groups].some(({ columns, instants }) => instants.includes(columns[name] ?? ''));
  }
}

function columnOf(index: number): string {
  return `r.property_${index}`;
}

/** The selected fields that a kind has, and those that neither has: fields may be of either kind. */
function fieldsOf(
  kind: Projection<User> | Projection<Group>,
  other: Projection<User> | Projection<Group>,
  fields: SelectedFields,
): SelectedFields {
  return new Map([...fields].filter(([name]) => kind.hasField(name) || !other.hasField(name)));
}
