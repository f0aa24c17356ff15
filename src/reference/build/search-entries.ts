import {
  type GraphQLNamedType,
  type GraphQLSchema,
  isEnumType,
  isInputObjectType,
  isIntrospectionType,
  isObjectType,
  isSpecifiedScalarType,
} from 'graphql';
import { placeOfMember, placeOfType, ROOTS } from './links.js';
import { plainText } from './markdown.js';

/** Something that can be found. */
export interface SearchEntry {
  /** Where it is described, below `/reference/`. */
  readonly place: string;
  readonly title: string;
  /** What it is, in a word or two. */
  readonly kind: string;
  readonly text: string;
}

/** Everything of a schema that can be found. */
export function schemaEntries(schema: GraphQLSchema): SearchEntry[] {
  return Object.values(schema.getTypeMap())
    .filter((type) => !isIntrospectionType(type) && !isSpecifiedScalarType(type))
    .flatMap((type) =>
      ROOTS[type.name] === undefined ? [typeEntry(type), ...members(type)] : members(type),
    );
}

/** The codes of a page of errors, each a heading of the third level. */
export function errorEntries(markdown: string): SearchEntry[] {
  return markdown
    .split(/^### /m)
    .slice(1)
    .map((section) => {
      const [code = '', ...lines] = section.split('\n');
      const text = plainText(lines.join('\n').split(/^## /m)[0] ?? '');
      return { place: `errors#${code}`, title: code, kind: 'error', text };
    });
}

function typeEntry(type: GraphQLNamedType): SearchEntry {
  const kind = isObjectType(type)
    ? 'object'
    : isInputObjectType(type)
      ? 'input'
      : isEnumType(type)
        ? 'enum'
        : 'type';
  return { place: placeOfType(type), title: type.name, kind, text: plainText(type.description ?? '') };
}

function members(type: GraphQLNamedType): SearchEntry[] {
  if (isEnumType(type)) return type.getValues().map((value) => memberEntry(type, value, 'value'));
  if (isInputObjectType(type))
    return Object.values(type.getFields()).map((field) => memberEntry(type, field, 'input field'));
  if (!isObjectType(type)) return [];
  const kind = { queries: 'query', mutations: 'mutation' }[ROOTS[type.name] as string] ?? 'field';
  return Object.values(type.getFields()).map((field) => memberEntry(type, field, kind));
}

function memberEntry(
  type: GraphQLNamedType,
  { name, description }: { name: string; description?: string | null | undefined },
  kind: string,
): SearchEntry {
  const title = ROOTS[type.name] === undefined ? `${type.name}.${name}` : name;
  return { place: placeOfMember(type, name), title, kind, text: plainText(description ?? '') };
}
