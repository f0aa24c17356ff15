import { Injectable } from '@nestjs/common';
import type { PageSelection } from '../common/page.js';
import { readPage } from '../database/page.js';
import type { Reader } from '../database/reader.js';
import { Connection } from '../graphql/connection.js';
import type { SearchArguments } from './search.inputs.js';
import type { SearchResult } from './search.model.js';
import { resultOf, type SearchRow, searchSource } from './search.queries.js';

/** Finds people and groups by what somebody typed. */
@Injectable()
export class SearchService {
  /** @throws BadUserInputError when the query is too short or too long */
  async search(
    page: SearchArguments,
    selection: PageSelection,
    reader: Reader,
  ): Promise<Connection<SearchResult>> {
    return Connection.of(await readPage<SearchRow>(reader, searchSource(page), page, selection), resultOf);
  }
}
