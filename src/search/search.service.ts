import { Injectable } from '@nestjs/common';
import type { PageSelection } from '../common/page.js';
import { readPage } from '../database/paging/page.js';
import type { Reader } from '../database/statements/reader.js';
import { Connection } from '../graphql/schema/connection.js';
import type { SearchArguments } from './search.inputs.js';
import type { SearchResult } from './search.model.js';
import { resultOf, searchedOf, searchSource } from './search.queries.js';

/** Finds people and groups by what somebody typed. */
@Injectable()
export class SearchService {
  /** @throws BadUserInputError when the query is too short or too long */
  async search(
    page: SearchArguments,
    selection: PageSelection,
    reader: Reader,
  ): Promise<Connection<SearchResult>> {
    const searched = searchedOf(selection);
    const found = await readPage(reader, searchSource(page, searched), page, selection);
    return Connection.of(found, (row) => resultOf(row, searched));
  }
}
