import {
  type GraphQLNamedType,
  type GraphQLSchema,
  isInputObjectType,
  isLeafType,
  isSpecifiedScalarType,
} from 'graphql';

/** The pages below `/reference`. The first one is `/reference` itself. */
export const PAGES = ['', 'queries', 'mutations', 'objects', 'inputs', 'values', 'errors'] as const;
export type PageName = (typeof PAGES)[number];

/** Pages of the root types, whose fields have separate pages. */
const ROOTS: Readonly<Record<string, PageName>> = { Query: 'queries', Mutation: 'mutations' };

/** Returns the place of the description of a type, below `/reference/`. */
export function placeOfType(type: GraphQLNamedType): string {
  const root = ROOTS[type.name];
  if (root !== undefined) return root;
  const page: PageName = isInputObjectType(type) ? 'inputs' : isLeafType(type) ? 'values' : 'objects';
  return `${page}#${type.name}`;
}

/**
 * Returns the place of the description of a type, query or mutation. Empty: GraphQL itself defines the name.
 */
export function placeOfName(schema: GraphQLSchema, name: string): string {
  const type = schema.getType(name);
  if (type) return isSpecifiedScalarType(type) ? '' : placeOfType(type);
  return `${schema.getQueryType()?.getFields()[name] === undefined ? 'mutations' : 'queries'}#${name}`;
}

/**
 * Returns the link of a page to a place. It is relative, because the service may be served below any path.
 */
export function linkFrom(page: PageName, place: string): string {
  return page === '' ? `reference/${place}` : place;
}
