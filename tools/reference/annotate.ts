import { MapperKind, mapSchema, printSchemaWithDirectives } from '@graphql-tools/utils';
import { buildSchema, getDirectiveValues, type GraphQLField, type GraphQLSchema } from 'graphql';
import type { Access } from '../../src/auth/access.js';

/** The directive exists only in the annotated copy, in no served schema. */
const NEEDS = 'needs';
const DEFINITION = `directive @${NEEDS}(what: String!) on FIELD_DEFINITION`;

/**
 * Returns a copy of the schema in which a directive of every field describes the access that a token needs.
 * Generators read directives; the schema itself has the access in extensions.
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

/** Returns how the generator renders the directive: as an emphasized paragraph. */
export function accessDirective(annotated: GraphQLSchema) {
  const type = annotated.getDirective(NEEDS);
  if (!type) throw new Error('The schema is not annotated');
  const descriptor = (_directive: unknown, field: unknown): string => {
    const { astNode } = field as GraphQLField<unknown, unknown>;
    return `*${String(getDirectiveValues(type, astNode ?? {})?.['what'])}*`;
  };
  return { [NEEDS]: { type, descriptor } };
}

/** Describes in Markdown what a token needs for a field. Null: nothing beyond the access to its object. */
function describeAccess(access: Access): string | null {
  switch (access.kind) {
    case 'public':
      return 'Needs no token.';
    case 'token':
      return 'Needs a token, with any scopes.';
    case 'inherited':
      return null;
    case 'scopes':
      return `Needs the ${access.scopes.length === 1 ? 'scope' : 'scopes'} ${access.scopes.map((scope) => `\`${scope}\``).join(' and ')}.`;
  }
}
