import { Injectable } from '@nestjs/common';
import type { PageSelection } from '../common/page.js';
import { Database } from '../database/database.js';
import { readPage } from '../database/page.js';
import { Connection } from '../graphql/connection.js';
import type { SearchArguments } from './search.inputs.js';
import type { SearchResult } from './search.model.js';
import { resultOf, type SearchRow, searchSource } from './search.queries.js';

/** Finds people and groups by what somebody typed. */
@Injectable()
export class SearchService {
  constructor(private readonly database: Database) {}

  /** @throws BadUserInputError when the query is too short or too long */
  async search(page: SearchArguments, selection: PageSelection): Promise<Connection<SearchResult>> {
    return Connection.of(
      await readPage<SearchRow>(this.database, searchSource(page), page, selection),
      resultOf,
    );
  }
}
