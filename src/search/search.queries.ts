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
      // With a cursor of a release that had three ranks, results would be missing.
      binding: bindCursor('search', { ranks: 4 }, { id, folded, wanted }),
      ...tablesOf(matches),
      columns: ['r.kind', ...columns.columns.map((column) => this.columnOf(column))],
      instants: columns.columns.flatMap((column) => (this.isInstant(column) ? this.columnOf(column) : [])),
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

  private columnOf({ name, kinds }: SearchColumn): string {
    const [only = 'null', ...more] = kinds.map((kind) => this.projections[kind].columns[name] ?? 'null');
    return more.length === 0
      ? only
      : `case r.kind when ${KINDS.indexOf(SearchKind.USER)} then ${[only, ...more].join(' else ')} end`;
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
  /** A word begins with the text. */
  readonly word: string;
}

/** Sorts after every character of a folded name, which has no unassigned ones. */
const LAST_CHARACTER = '\u{10FFFF}';

/** The first name that begins with a text, an end of these names, and a pattern of words that begin with it. */
function textsOf(folded: string): string[] {
  return [folded, `${folded}${LAST_CHARACTER}`, `% ${escapeLike(folded)}%`];
}

/** @param folded the text, or nothing, which no row matches */
function matchesOf(kinds: readonly SearchKind[], folded: string, id: string, values: Values): Match[] {
  const valueOf = (text: string) => `${values.add(text)}::text`;
  const ofId = valueOf(id);
  const texts = folded === '' ? null : textsOf(folded).map(valueOf);
  return kinds.map((kind) => {
    const { alias } = TABLES[kind];
    const exact = `${alias}.id_folded = ${ofId}`;
    const name =
      texts === null ? 'false' : `${alias}.sort_name >= ${texts[0]} and ${alias}.sort_name < ${texts[1]}`;
    const word = texts === null ? 'false' : `${alias}.search_text like ${texts[2]}`;
    return { kind, any: searchCondition(alias, folded, values), exact, name, word };
  });
}

function tablesOf(matches: readonly Match[]): Pick<PageSource, 'from' | 'parts'> {
  const select = (conditionOf: (match: Match) => string, rankOf: (match: Match) => string) =>
    matches.map((match) => selectFrom(match.kind, conditionOf(match), rankOf(match)));
  const exact = select(
    ({ any, exact }) => `${any} and ${exact}`,
    () => '0',
  );
  const names = select(
    ({ exact, name }) => `${name} and not (${exact})`,
    () => '1',
  );
  const others = select(
    ({ any, exact, name }) => `${any} and not (${exact}) and not (${name})`,
    ({ word }) => `case when ${word} then 2 else 3 end`,
  );
  const found = select(
    ({ any }) => any,
    ({ exact, name, word }) => `case when ${exact} then 0 when ${name} then 1 when ${word} then 2 else 3 end`,
  );
  return {
    from: union(found),
    parts: {
      alias: 'r',
      // Names that begin with the text are a range of an index in page order: a frequent name takes no longer than others.
      tables: [[union(exact)], names.map(aliased), [union(others)]],
      joins: KINDS.map((kind, number) => {
        const { from, alias } = TABLES[kind];
        return `left join ${from} on r.kind = ${number} and ${alias}.key = r.key`;
      }).join(' '),
    },
  };
}

function selectFrom(kind: SearchKind, condition: string, rank: string): string {
  const { from, alias } = TABLES[kind];
  const columns = `${KINDS.indexOf(kind)} as kind, ${alias}.key, ${alias}.sort_name, ${rank} as distance`;
  return `
    select ${columns}
    from ${from}
    where ${condition}`;
}

function union(tables: readonly string[]): string {
  return aliased(tables.join(' union all '));
}

function aliased(table: string): string {
  return `(${table}) r`;
}

/** The selected fields that a kind has, and those that neither has: fields may be of either kind. */
function fieldsOf(
  kind: Projection<User> | Projection<Group>,
  other: Projection<User> | Projection<Group>,
  fields: SelectedFields,
): SelectedFields {
  return new Map([...fields].filter(([name]) => kind.hasField(name) || !other.hasField(name)));
}
