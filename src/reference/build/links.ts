import { type GraphQLNamedType, isInputObjectType, isLeafType } from 'graphql';

/** The pages, below `/reference`; the first is `/reference` itself. */
export const PAGES = ['', 'queries', 'mutations', 'objects', 'inputs', 'values', 'errors'] as const;
export type PageName = (typeof PAGES)[number];

/** Names of the root types: their fields have pages of their own. */
export const ROOTS: Readonly<Record<string, PageName>> = { Query: 'queries', Mutation: 'mutations' };

/** Where a type is described, below `/reference/`. */
export function placeOfType(type: GraphQLNamedType): string {
  const root = ROOTS[type.name];
  if (root !== undefined) return root;
  const page: PageName = isInputObjectType(type) ? 'inputs' : isLeafType(type) ? 'values' : 'objects';
  return `${page}#${type.name}`;
}

/** Where a field of a type is described, or a value of an enum. */
export function placeOfMember(type: GraphQLNamedType, member: string): string {
  const root = ROOTS[type.name];
  return root === undefined ? `${placeOfType(type)}.${member}` : `${root}#${member}`;
}

/** The address of a place as a page links to it: relative, because the service may be below any path. */
export function linkFrom(page: PageName, place: string): string {
  return page === '' ? `reference/${place}` : place;
}
