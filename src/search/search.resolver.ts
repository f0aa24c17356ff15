import { Args, Context, Query, Resolver } from '@nestjs/graphql';
import { RequireScopes } from '../auth/access.js';
import type { PageSelection } from '../common/page.js';
import { DependsOn } from '../graphql/cache/cache-policy.decorator.js';
import type { Connection } from '../graphql/schema/connection.js';
import type { RequestContext } from '../graphql/http/request-context.js';
import { SelectedPage } from '../graphql/analysis/selection.js';
import { SearchArguments } from './search.inputs.js';
import { type SearchResult, SearchResultConnection } from './search.model.js';
import { SearchService } from './search.service.js';

@Resolver()
export class SearchResolver {
  constructor(private readonly results: SearchService) {}

  @RequireScopes('read')
  @DependsOn('mirror')
  @Query(() => SearchResultConnection, {
    nullable: true,
    description:
      'People and groups by part of a name or id, best first: an exact id, then beginnings of words, then the rest.',
  })
  search(
    @Args() page: SearchArguments,
    @SelectedPage() selection: PageSelection,
    @Context() { reader }: RequestContext,
  ): Promise<Connection<SearchResult>> {
    return this.results.search(page, selection, reader);
  }
}
