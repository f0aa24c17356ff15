import {
  type GraphQLNamedType,
  type GraphQLSchema,
  isInputObjectType,
  isLeafType,
  isSpecifiedScalarType,
} from 'graphql';

/** The pages, below `/reference`; the first is `/reference` itself. */
export const PAGES = ['', 'queries', 'mutations', 'objects', 'inputs', 'values', 'errors'] as const;
export type PageName = (typeof PAGES)[number];

/** Names of the root types: their fields have pages of their own. */
const ROOTS: Readonly<Record<string, PageName>> = { Query: 'queries', Mutation: 'mutations' };

/** Where a type is described, below `/reference/`. */
export function placeOfType(type: GraphQLNamedType): string {
  const root = ROOTS[type.name];
  if (root !== undefined) return root;
  const page: PageName = isInputObjectType(type) ? 'inputs' : isLeafType(type) ? 'values' : 'objects';
  return `${page}#${type.name}`;
}

/** Where what has a name is described: a type, a query or a mutation. Empty for what GraphQL itself describes. */
export function placeOfName(schema: GraphQLSchema, name: string): string {
  const type = schema.getType(name);
  if (type) return isSpecifiedScalarType(type) ? '' : placeOfType(type);
  return `${schema.getQueryType()?.getFields()[name] === undefined ? 'mutations' : 'queries'}#${name}`;
}

/** The address of a place as a page links to it: relative, because the service may be below any path. */
export function linkFrom(page: PageName, place: string): string {
  return page === '' ? `reference/${place}` : place;
}
