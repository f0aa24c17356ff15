import { createUnionType, registerEnumType } from '@nestjs/graphql';
import { connectionTypes } from '../graphql/schema/connection.js';
import { Group } from '../groups/group.model.js';
import { User } from '../users/user.model.js';

export enum SearchKind {
  USER = 'USER',
  GROUP = 'GROUP',
}

registerEnumType(SearchKind, {
  name: 'SearchKind',
  description: 'What can be searched for.',
  valuesMap: {
    USER: { description: 'People.' },
    GROUP: { description: 'Groups.' },
  },
});

export const SearchResult = createUnionType({
  name: 'SearchResult',
  description: 'What a search can find: a person or a group.',
  types: () => [User, Group] as const,
  resolveType: (found: User | Group) => (found instanceof User ? 'User' : 'Group'),
});
export type SearchResult = User | Group;

export const { ConnectionType: SearchResultConnection } = connectionTypes<SearchResult>(
  'SearchResult',
  () => SearchResult,
  {
    connection: 'What a search found, best first, page by page.',
    nodes: 'What was found, of this page.',
    edge: 'Something that was found and its place in the order.',
    node: 'The person or group that was found.',
  },
);
