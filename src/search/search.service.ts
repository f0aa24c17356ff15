import { Injectable } from '@nestjs/common';
import type { PageSelection } from '../common/page.js';
import { Database } from '../database/database.js';
import { type Page, readPage } from '../database/page.js';
import { Connection } from '../graphql/connection.js';
import { GroupsService } from '../groups/groups.service.js';
import { UsersService } from '../users/users.service.js';
import type { SearchArguments } from './search.inputs.js';
import { SearchKind, type SearchResult } from './search.model.js';
import { KINDS, type SearchRow, searchSource } from './search.queries.js';

/** Finds people and groups by what somebody typed. */
@Injectable()
export class SearchService {
  constructor(
    private readonly database: Database,
    private readonly users: UsersService,
    private readonly groups: GroupsService,
  ) {}

  /** @throws BadUserInputError when the query is too short or too long */
  async search(page: SearchArguments, selection: PageSelection): Promise<Connection<SearchResult>> {
    const found = await readPage<SearchRow>(this.database, searchSource(page), page, selection);
    const results = await this.resultsOf(found);
    return Connection.ofFound(found, (row) => results.get(nameOf(row)));
  }

  /** What the rows name, by kind and key: one statement a kind. */
  private async resultsOf({ rows }: Page<SearchRow>): Promise<Map<string, SearchResult>> {
    const keys = (kind: SearchKind) => rows.filter((row) => KINDS[row[0]] === kind).map(([, key]) => key);
    const [userKeys, groupKeys] = [keys(SearchKind.USER), keys(SearchKind.GROUP)];
    const [users, groups] = await Promise.all([
      userKeys.length > 0 ? this.users.listByKey(userKeys) : [],
      groupKeys.length > 0 ? this.groups.listByKey(groupKeys) : [],
    ]);
    return new Map<string, SearchResult>([
      ...users.map((user) => [nameOf([KINDS.indexOf(SearchKind.USER), user.key]), user] as const),
      ...groups.map((group) => [nameOf([KINDS.indexOf(SearchKind.GROUP), group.key]), group] as const),
    ]);
  }
}

function nameOf([kind, key]: SearchRow): string {
  return `${kind}:${key}`;
}
