import { bindCursor } from '../common/cursor.js';
import { foldSearch } from '../common/fold.js';
import { foldId } from '../common/identity.js';
import type { PageSelection, SelectedFields } from '../common/page.js';
import type { ProjectedColumns, Projection } from '../database/fields/projection.js';
import type { PageSource } from '../database/paging/page-source.js';
import { escapeLike, searchCondition } from '../database/fields/filter-conditions.js';
import { ANY_GROUP, ANY_USER } from '../database/statements/dependencies.js';
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

/** A column after the kind: a property of one kind, or of both if it has the same type. */
interface SearchColumn {
  readonly name: string;
  readonly kinds: readonly SearchKind[];
}

/** What is read of each kind, and the columns of both kinds after the kind. */
interface SearchColumns {
  readonly ofKind: Readonly<Record<SearchKind, ProjectedColumns>>;
  readonly columns: readonly SearchColumn[];
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
    const names = [...new Set(KINDS.flatMap((kind) => ofKind[kind].properties))];
    const columns = names.flatMap((name): SearchColumn[] => {
      const kinds = KINDS.filter((kind) => ofKind[kind].properties.includes(name));
      const isOne = new Set(kinds.map((kind) => this.projections[kind].types.get(name))).size === 1;
      return isOne ? [{ name, kinds }] : kinds.map((kind) => ({ name, kinds: [kind] }));
    });
    return { ofKind, columns };
  }

  mapRow([number, ...values]: unknown[], { columns }: SearchColumns): SearchResult {
    const kind = KINDS[Number(number)] ?? SearchKind.GROUP;
    const own = columns.map(({ name, kinds }, index) => ({ name, value: values[index], kinds }));
    const shown = own.filter(({ kinds }) => kinds.includes(kind));
    const properties = shown.map(({ name }) => name);
    return this.projections[kind].mapRow(
      shown.map(({ value }) => value),
      { properties, columns: [] },
    );
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
      columns: ['r.kind', ...columns.columns.map((_, index) => columnOf(index))],
      instants: columns.columns.flatMap((column, index) => (this.isInstant(column) ? columnOf(index) : [])),
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
      // A key of a row is noted for both tables, because the kind is in another column.
      reads: { bits: ANY_USER | ANY_GROUP, rows: { key: 'r.key', tables: ['users', 'groups'] } },
    };
  }

  private selectFound(
    kind: SearchKind,
    { columns: selected }: SearchColumns,
    condition: string,
    ranks: { exact: string; prefix: string },
  ): string {
    const { from, alias } = TABLES[kind];
    const columns = [
      `${KINDS.indexOf(kind)} as kind`,
      `${alias}.key`,
      `${alias}.sort_name`,
      `case when ${alias}.id_folded = ${ranks.exact} then 0 when ${alias}.search_text like ${ranks.prefix} then 1 else 2 end as distance`,
      ...selected.map((column, index) => {
        const { name, kinds } = column;
        // Where only one kind is searched, nothing else says what type a null has.
        const none = this.isInstant(column) ? 'null::timestamptz' : 'null';
        return `${kinds.includes(kind) ? (this.projections[kind].columns[name] ?? none) : none} as property_${index}`;
      }),
    ];
    return `
    select ${columns.join(', ')}
    from ${from}
    where ${condition}`;
  }

  private isInstant({ name, kinds }: SearchColumn): boolean {
    return kinds.some((kind) => this.projections[kind].types.get(name) === 'timestamptz');
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
