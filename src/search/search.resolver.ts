import { Args, Context, Query, Resolver } from '@nestjs/graphql';
import { RequireScopes } from '../auth/access.js';
import type { PageSelection } from '../common/page.js';
import { CachePolicy } from '../graphql/cache/cache-policy.decorator.js';
import type { Connection } from '../graphql/schema/connection.js';
import type { RequestContext } from '../graphql/http/request-context.js';
import { SelectedPage } from '../graphql/analysis/selection.js';
import { SearchArguments, type SearchResult, SearchResultConnection } from './search.model.js';
import { SearchService } from './search.service.js';

@Resolver()
export class SearchResolver {
  constructor(private readonly results: SearchService) {}

  @RequireScopes('read')
  @CachePolicy('mirror')
  @Query(() => SearchResultConnection, {
    nullable: true,
    description:
      'Users and groups by words of their name or id, best match first: an exact id, the whole name, names that begin with the text, words that begin with it, words that begin with its words, and the rest.',
  })
  search(
    @Args() page: SearchArguments,
    @SelectedPage() selection: PageSelection,
    @Context() { reader }: RequestContext,
  ): Promise<Connection<SearchResult>> {
    return this.results.search(page, selection, reader);
  }
}
