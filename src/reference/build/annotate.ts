import { MapperKind, mapSchema, printSchemaWithDirectives } from '@graphql-tools/utils';
import { buildSchema, getDirectiveValues, type GraphQLField, type GraphQLSchema } from 'graphql';
import type { Access } from '../../auth/access.js';

/** What the copy has, and no schema that is served. */
const NEEDS = 'needs';
const DEFINITION = `directive @${NEEDS}(what: String!) on FIELD_DEFINITION`;

/**
 * A copy of the schema in which every field says in a directive what a token needs for it: generators read directives, and
 * the access stands in extensions.
 */
export function annotateAccess(schema: GraphQLSchema): GraphQLSchema {
  const annotated = mapSchema(schema, {
    [MapperKind.OBJECT_FIELD]: (field) => {
      const what = describeAccess(field.extensions?.['access'] as Access);
      return { ...field, extensions: what === null ? {} : { directives: { [NEEDS]: { what } } } };
    },
  });
  return buildSchema(`${printSchemaWithDirectives(annotated)}\n${DEFINITION}`);
}

/** How the generator reads the directive: as an emphasised paragraph. */
export function accessDirective(annotated: GraphQLSchema) {
  const type = annotated.getDirective(NEEDS);
  if (!type) throw new Error('The schema is not annotated');
  const descriptor = (_directive: unknown, field: unknown): string => {
    const { astNode } = field as GraphQLField<unknown, unknown>;
    return `*${String(getDirectiveValues(type, astNode ?? {})?.['what'])}*`;
  };
  return { [NEEDS]: { type, descriptor } };
}

/** What a token needs for a field, in Markdown; null: nothing besides what led to it. */
function describeAccess(access: Access): string | null {
  switch (access.kind) {
    case 'public':
      return 'Needs no token.';
    case 'token':
      return 'Needs a token, whatever its scopes.';
    case 'inherited':
      return null;
    case 'scopes':
      return `Needs the ${access.scopes.length === 1 ? 'scope' : 'scopes'} ${access.scopes.map((scope) => `\`${scope}\``).join(' and ')}.`;
  }
}
