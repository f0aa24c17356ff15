import { Inject, Module } from '@nestjs/common';
import { Args, Context, Info, Query, Resolver } from '@nestjs/graphql';
import type { GraphQLResolveInfo } from 'graphql';
import { RequireScopes } from '../auth/access.js';
import type { Config } from '../config/config.js';
import { CONFIG } from '../config/config.module.js';
import { readPage } from '../database/paging/page.js';
import { pageSelection } from '../graphql/analysis/selection.js';
import { CachePolicy } from '../graphql/cache/response-cache.js';
import type { RequestContext } from '../graphql/http/request-context.js';
import { Connection } from '../graphql/schema/connection.js';
import { groupProjection } from '../groups/group.queries.js';
import { userProjection } from '../users/user.queries.js';
import { SearchArguments, type SearchResult, SearchResultConnection } from './search.model.js';
import { SearchQuery } from './search.queries.js';

@Resolver()
class SearchResolver {
  private readonly query: SearchQuery;

  constructor(@Inject(CONFIG) { directory: { mapping } }: Config) {
    this.query = new SearchQuery(
      userProjection(mapping.users.fields),
      groupProjection(mapping.groups.fields),
    );
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
    const columns = this.query.select(selection);
    const found = await readPage(reader, this.query.sourceOf(page, columns), page, selection);
    return Connection.of(found, (row) => this.query.mapRow(row, columns));
  }
}

@Module({ providers: [SearchResolver] })
export class SearchModule {}
