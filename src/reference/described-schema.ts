import { MapperKind, mapSchema, printSchemaWithDirectives } from '@graphql-tools/utils';
import type { GraphQLNamedType, GraphQLSchema } from 'graphql';
import type { Access } from '../auth/access.js';
import type { FieldAudience } from '../common/field.js';
import { describeScopes } from '../graphql/schema/access-directive.js';
import { nameOfOriginal } from '../graphql/schema/preview-types.js';
import type { ScopeDefinition } from '../config/scopes.js';

/** A schema as the pages describe it. It can be sent to a thread. */
export interface DescribedSchema {
  /** The schema as text, in which the directive `@needs` describes who reads a field. */
  readonly sdl: string;
  readonly scopes: readonly ScopeDefinition[];
}

/** The directive exists only in the text for the pages, in no served schema. */
export const NEEDS = 'needs';
const DEFINITION = `directive @${NEEDS}(what: String!) on FIELD_DEFINITION | INPUT_FIELD_DEFINITION`;

/** The values of custom fields that only some viewers see. */
const AUDIENCES: Readonly<Record<string, Readonly<Record<FieldAudience, string>>>> = {
  Group: {
    groupAdmins: 'Only those who are at least ADMIN in the group see the value.',
    self: 'Only the owners of the group see the value.',
  },
  User: {
    groupAdmins: 'Only the user and those who are at least ADMIN in a group of the user see the value.',
    self: 'Only the user sees the value.',
  },
};

/**
 * Describes the schema with the access of its fields, which is in extensions: neither SDL nor introspection contains them, and
 * generators read directives.
 */
export function describeSchema(schema: GraphQLSchema, scopes: readonly ScopeDefinition[]): DescribedSchema {
  const annotate = <Described extends { extensions?: object | null; description?: string | null }>(
    field: Described,
    audiences: Readonly<Record<FieldAudience, string>> | undefined,
  ): Described => {
    const { access, visibleTo } = (field.extensions ?? {}) as {
      access?: Access;
      visibleTo?: FieldAudience;
    };
    const needed = access === undefined ? null : describeAccess(access);
    const sentences = [needed, visibleTo === undefined ? null : audiences?.[visibleTo]];
    const what = sentences.filter((sentence) => typeof sentence === 'string').join(' ');
    // Descriptions of fields with scopes end with this sentence too.
    const { description: whole } = field;
    const description = needed === null ? whole : whole?.replace(` ${needed}`, '');
    return { ...field, description, extensions: what === '' ? {} : { directives: { [NEEDS]: { what } } } };
  };
  const annotated = mapSchema(schema, {
    [MapperKind.OBJECT_FIELD]: (field, _name, type) =>
      annotate(field, AUDIENCES[audienceOf(schema.getType(type))]),
    [MapperKind.INPUT_OBJECT_FIELD]: (field) => annotate(field, undefined),
  });
  return { sdl: `${printSchemaWithDirectives(annotated)}\n${DEFINITION}`, scopes };
}

/** The type whose audiences the fields of a type have. */
function audienceOf(type: GraphQLNamedType | undefined): string {
  const name = type === undefined ? '' : nameOfOriginal(type);
  return name === 'Profile' ? 'User' : name;
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
      return describeScopes(access.scopes);
  }
}
