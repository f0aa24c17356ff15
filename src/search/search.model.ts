import { createUnionType, ArgsType, Field } from '@nestjs/graphql';
import { connectionTypes, ConnectionArguments, describedEnum } from '../graphql/schema/connection.js';
import { Group } from '../groups/group.model.js';
import { User } from '../users/user.model.js';

export const SearchKind = describedEnum('SearchKind', 'The kinds of objects that a search can find.', {
  USER: 'Users.',
  GROUP: 'Groups.',
});
export type SearchKind = keyof typeof SearchKind;

export const SearchResult = createUnionType({
  name: 'SearchResult',
  description: 'A user or a group that a search found.',
  types: () => [User, Group] as const,
  resolveType: (found: User | Group) => (found instanceof User ? 'User' : 'Group'),
});
export type SearchResult = User | Group;

export const { ConnectionType: SearchResultConnection } = connectionTypes<SearchResult>(
  'SearchResult',
  () => SearchResult,
  {
    connection: 'A page of search results, best match first.',
    nodes: 'The results on this page.',
    edge: 'A result and its position in the order.',
    node: 'The user or group.',
  },
);

@ArgsType()
export class SearchArguments extends ConnectionArguments {
  @Field(() => String, {
    description:
      'Words, 2 to 64 characters or one of Chinese, Japanese or Korean. An object is found if each is in a word of the name, the given or family name, the id, or another searchable field, at its beginning or inside it, in any order. ' +
      'Case and accents are ignored. Apostrophes, hyphens, commas and periods may be there, be spaces, or be left out. No character is a wildcard.',
  })
  query!: string;

  @Field(() => [SearchKind], {
    nullable: true,
    description: 'The kinds of objects to search for. If omitted, all kinds.',
  })
  kinds?: SearchKind[] | null;
}
