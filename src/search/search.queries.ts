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
   * Best first: an exact id, then names that begin with the text, then words that begin with it, then the rest; by name among
   * equals.
   * @throws BadUserInputError when the query is too short or too long
   */
  sourceOf({ query, kinds }: SearchArguments, columns: SearchColumns): PageSource {
    const values = new Values();
    const folded = foldSearch(query, 'query');
    const id = foldId(query.trim());
    const wanted = KINDS.filter((kind) => kinds === undefined || kinds === null || kinds.includes(kind));
    const searched = wanted.length === 0 ? KINDS : wanted;
    const matches = matchesOf(searched, wanted.length === 0 ? '' : folded, id, values);
    return {
      binding: bindCursor('search', {}, { id, folded, wanted }),
      ...this.tablesOf(columns, matches),
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

  private tablesOf(columns: SearchColumns, matches: readonly Match[]): Pick<PageSource, 'from' | 'parts'> {
    const select = (conditionOf: (match: Match) => string, rankOf: (match: Match) => string) =>
      matches.map((match) => this.selectFrom(match.kind, columns, conditionOf(match), rankOf(match)));
    const found = select(
      ({ any }) => any,
      ({ rank }) => rank,
    );
    const exact = select(
      (match) => `${match.any} and ${match.exact}`,
      () => '0',
    );
    const names = select(
      (match) => `${match.name} and not (${match.exact})`,
      () => '1',
    );
    const others = select(
      (match) => `${match.any} and not (${match.exact}) and not (${match.name})`,
      ({ otherRank }) => otherRank,
    );
    return {
      from: union(found),
      // Names that begin with the text are a range of an index in page order: a frequent name takes no longer than others.
      parts: [exact.map(aliased), names.map(aliased), [union(others)]],
    };
  }

  private selectFrom(
    kind: SearchKind,
    { columns: selected }: SearchColumns,
    condition: string,
    rank: string,
  ): string {
    const { from, alias } = TABLES[kind];
    const columns = [
      `${KINDS.indexOf(kind)} as kind`,
      `${alias}.key`,
      `${alias}.sort_name`,
      `${rank} as distance`,
      ...selected.map((column, index) => `${this.valueFor(kind, column)} as property_${index}`),
    ];
    return `
    select ${columns.join(', ')}
    from ${from}
    where ${condition}`;
  }

  /** SQL for a property of a kind. For the other kind, it is a null of the same type. */
  private valueFor(kind: SearchKind, { name, kinds: [first = kind, ...more] }: SearchColumn): string {
    const valueOf = (each: SearchKind) => this.projections[each].columns[name] ?? 'null';
    return first === kind || more.includes(kind)
      ? valueOf(kind)
      : `(select ${valueOf(first)} from ${TABLES[first].from} limit 0)`;
  }

  private isInstant({ name, kinds }: SearchColumn): boolean {
    return kinds.some((kind) => this.projections[kind].types.get(name) === 'timestamptz');
  }
}

/** SQL conditions for the rows of a kind that match a text. */
interface Match {
  readonly kind: SearchKind;
  readonly any: string;
  /** The id is the text. */
  readonly exact: string;
  /** The name begins with the text. Such a row always matches. */
  readonly name: string;
  /** The rank of a row that matches. */
  readonly rank: string;
  /** The same of one that neither of the two conditions selects. */
  readonly otherRank: string;
}

/** Sorts after every character of a folded name, which has no unassigned ones. */
const LAST_CHARACTER = '\u{10FFFF}';

/** @param folded the text, or nothing, which no row matches */
function matchesOf(kinds: readonly SearchKind[], folded: string, id: string, values: Values): Match[] {
  const valueOf = (text: string) => `${values.add(text)}::text`;
  const [ofId, ofWord] = [valueOf(id), valueOf(`% ${escapeLike(folded)}%`)];
  const range = folded === '' ? null : [valueOf(folded), valueOf(`${folded}${LAST_CHARACTER}`)];
  return kinds.map((kind) => {
    const { alias } = TABLES[kind];
    const exact = `${alias}.id_folded = ${ofId}`;
    const name =
      range === null ? 'false' : `${alias}.sort_name >= ${range[0]} and ${alias}.sort_name < ${range[1]}`;
    const ofOthers = `when ${alias}.search_text like ${ofWord} then 2 else 3 end`;
    return {
      ...{ kind, any: searchCondition(alias, folded, values), exact, name },
      rank: `case when ${exact} then 0 when ${name} then 1 ${ofOthers}`,
      otherRank: `case ${ofOthers}`,
    };
  });
}

function union(tables: readonly string[]): string {
  return aliased(tables.join(' union all '));
}

function aliased(table: string): string {
  return `(${table}) r`;
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
