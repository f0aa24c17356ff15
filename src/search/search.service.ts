import { Inject, Injectable } from '@nestjs/common';
import type { PageSelection } from '../common/page.js';
import type { Config } from '../config/config.js';
import { CONFIG } from '../config/config.module.js';
import { readPage } from '../database/paging/page.js';
import type { PageReader } from '../database/statements/statement.js';
import { Connection } from '../graphql/schema/connection.js';
import { groupProjection } from '../groups/group.queries.js';
import { userProjection } from '../users/user.queries.js';
import type { SearchArguments, SearchResult } from './search.model.js';
import { SearchQuery } from './search.queries.js';

@Injectable()
export class SearchService {
  private readonly query: SearchQuery;

  constructor(@Inject(CONFIG) { directory: { mapping } }: Config) {
    this.query = new SearchQuery(
      userProjection(mapping.users.fields),
      groupProjection(mapping.groups.fields),
    );
  }

  /** @throws BadUserInputError when the query is too short or too long */
  async search(
    page: SearchArguments,
    selection: PageSelection,
    reader: PageReader,
  ): Promise<Connection<SearchResult>> {
    const columns = this.query.select(selection);
    const found = await readPage(reader, this.query.sourceOf(page, columns), page, selection);
    return Connection.of(found, (row) => this.query.mapRow(row, columns));
  }
}
