import { Module } from '@nestjs/common';
import { Args, Context, Info, Query, Resolver } from '@nestjs/graphql';
import type { GraphQLResolveInfo } from 'graphql';
import { RequireScopes } from '../auth/access.js';
import { bindCursor } from '../common/cursor.js';
import { foldId } from '../common/identity.js';
import type { PageSelection, SelectedFields } from '../common/page.js';
import type { ProjectedColumns, Projection } from '../database/fields/projection.js';
import {
  beginsWords,
  lettersOf,
  parseSearch,
  type Search,
  searchCondition,
} from '../database/fields/search-text.js';
import { type PageSource, readPage } from '../database/paging/page.js';
import { Values } from '../database/statements/statement.js';
import { pageSelection } from '../graphql/analysis/selection.js';
import { CachePolicy } from '../graphql/cache/response-cache.js';
import type { RequestContext } from '../graphql/http/request-context.js';
import { Connection } from '../graphql/schema/connection.js';
import type { Group } from '../groups/group.model.js';
import { GroupsModule } from '../groups/groups.module.js';
import { GroupsService } from '../groups/groups.service.js';
import type { User } from '../users/user.model.js';
import { UsersModule } from '../users/users.module.js';
import { UsersService } from '../users/users.service.js';
import { SearchArguments, SearchKind, type SearchResult, SearchResultConnection } from './search.model.js';

/** The numbers of the kinds in rows and cursors. */
const KINDS: readonly SearchKind[] = [SearchKind.USER, SearchKind.GROUP];

const TABLES = {
  [SearchKind.USER]: { from: 'users u', alias: 'u' },
  [SearchKind.GROUP]: { from: 'groups g', alias: 'g' },
} as const;

/** What is read of each kind. A row has the columns of both. */
type SearchColumns = Readonly<Record<SearchKind, ProjectedColumns>>;

@Resolver()
class SearchResolver {
  private readonly users: Projection<User>;
  private readonly groups: Projection<Group>;

  constructor(users: UsersService, groups: GroupsService) {
    this.users = users.projection;
    this.groups = groups.projection;
  }

  @RequireScopes('read')
  @CachePolicy('mirror')
  @Query(() => SearchResultConnection, {
    nullable: true,
    description:
      'Users and groups by words of their name or id, best match first: an exact id, the whole name, names that begin with the text, words that begin with it, words that begin with its words, and the rest.',
  })
  async search(
    @Args() page: SearchArguments,
    @Context() { reader }: RequestContext,
    @Info() info: GraphQLResolveInfo,
  ): Promise<Connection<SearchResult>> {
    const selection = pageSelection(info);
    const columns = this.select(selection);
    const found = await readPage(reader, this.sourceOf(page, columns), page, selection);
    return Connection.of(found, (row) => this.mapRow(row, columns));
  }

  private select({ node }: PageSelection): SearchColumns {
    const { users, groups } = this;
    return {
      [SearchKind.USER]: users.select(fieldsOf(users, groups, node)),
      [SearchKind.GROUP]: groups.select(fieldsOf(groups, users, node)),
    };
  }

  private mapRow(row: unknown[], { USER: ofUser, GROUP: ofGroup }: SearchColumns): SearchResult {
    return KINDS[Number(row[0])] === SearchKind.USER
      ? this.users.mapRow(row, ofUser, 1)
      : this.groups.mapRow(row, ofGroup, 1 + ofUser.columns.length);
  }

  /**
   * Best first: an exact id, then the whole name, names that begin with the text, words that begin with it, words that begin with
   * its words, and the rest; by name among equals.
   * @throws BadUserInputError when the query is too short or too long
   */
  private sourceOf({ query, kinds }: SearchArguments, columns: SearchColumns): PageSource {
    const values = new Values();
    const search = parseSearch(query, 'query');
    const id = foldId(query.trim());
    const wanted = KINDS.filter((kind) => kinds === undefined || kinds === null || kinds.includes(kind));
    const searched = wanted.length === 0 ? KINDS : wanted;
    const matches = matchesOf(searched, wanted.length === 0 ? { ...search, words: [] } : search, id, values);
    return {
      binding: () => bindCursor('search', {}, { id, folded: search.folded, wanted }),
      ...tablesOf(matches),
      columns: ['r.kind', ...KINDS.flatMap((kind) => columns[kind].columns)],
      underParent: null,
      order: {
        columns: [
          { sql: 'r.distance', type: 'number' },
          { sql: 'r.sort_name', type: 'text' },
          { sql: 'r.kind', type: 'number' },
          { sql: 'r.key', type: 'number' },
        ],
        direction: 'ASC',
      },
      conditions: [],
      values,
    };
  }
}

/** SQL for the rows of a kind that a search finds. */
interface Match {
  readonly kind: SearchKind;
  readonly any: string;
  /** The conditions of the first ranks: an exact id, the whole name, and names that begin with the text. */
  readonly ranks: readonly string[];
  /** The rank of a row that meets none of them. */
  readonly rank: string;
}

/** The rank of names that begin with the text. Such a row always matches. */
const BEGINNING = 2;
/** Sorts after every character of a folded name, which has no unassigned ones. */
const LAST_CHARACTER = '\u{10FFFF}';

function matchesOf(kinds: readonly SearchKind[], search: Search, id: string, values: Values): Match[] {
  const { folded, words } = search;
  if (words.length === 0) return kinds.map((kind) => ({ kind, any: 'false', ranks: ['false'], rank: '0' }));
  const texts = [id, lettersOf(folded), folded, `${folded}${LAST_CHARACTER}`];
  const [ofId, whole, first, last] = texts.map((text) => `${values.add(text)}::text`);
  return kinds.map((kind) => {
    const { alias } = TABLES[kind];
    const inARow = beginsWords(alias, [words.join('')], values);
    return {
      kind,
      any: searchCondition(alias, search, values),
      ranks: [
        `${alias}.id_folded = ${ofId}`,
        `${alias}.name_letters = ${whole}`,
        `${alias}.sort_name >= ${first} and ${alias}.sort_name < ${last}`,
      ],
      rank: `case when ${inARow} then 3 when ${beginsWords(alias, words, values)} then 4 else 5 end`,
    };
  });
}

function tablesOf(matches: readonly Match[]): Pick<PageSource, 'from' | 'parts'> {
  const select = (conditionOf: (match: Match) => string, rankOf: (match: Match) => string) =>
    matches.map((match) => selectFrom(match.kind, conditionOf(match), rankOf(match)));
  const found = select(
    ({ any }) => any,
    ({ ranks, rank }) =>
      `case ${ranks.map((each, index) => `when ${each} then ${index}`).join(' ')} else ${rank} end`,
  );
  const others = select(
    ({ any, ranks }) => [any, ...ranks.map(not)].join(' and '),
    ({ rank }) => rank,
  );
  const best = (matches[0]?.ranks ?? []).map((_, index) => {
    const rows = select(
      ({ any, ranks }) =>
        [...(index === BEGINNING ? [] : [any]), ranks[index], ...ranks.slice(0, index).map(not)].join(
          ' and ',
        ),
      () => String(index),
    );
    // Names that begin with the text are a range of an index in page order: a frequent name takes no longer than others.
    return index === BEGINNING ? rows.map(aliased) : [union(rows)];
  });
  return {
    from: union(found),
    parts: {
      alias: 'r',
      tables: [...best, [union(others)]],
      joins: KINDS.map((kind, number) => {
        const { from, alias } = TABLES[kind];
        return `left join ${from} on r.kind = ${number} and ${alias}.key = r.key`;
      }).join(' '),
    },
  };
}

const not = (condition: string) => `not (${condition})`;

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

const aliased = (table: string) => `(${table}) r`;

/** The selected fields that a kind has, and those that neither has: fields may be of either kind. */
function fieldsOf(
  kind: Projection<User> | Projection<Group>,
  other: Projection<User> | Projection<Group>,
  fields: SelectedFields,
): SelectedFields {
  return new Map([...fields].filter(([name]) => kind.hasField(name) || !other.hasField(name)));
}

@Module({ imports: [GroupsModule, UsersModule], providers: [SearchResolver] })
export class SearchModule {}
