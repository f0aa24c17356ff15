import { MapperKind, mapSchema, printSchemaWithDirectives } from '@graphql-tools/utils';
import type { GraphQLSchema } from 'graphql';
import type { Access } from '../auth/access.js';
import type { FieldAudience } from '../common/field.js';
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

/** The values of own fields that only some viewers see. */
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
  const annotate = <Described extends { extensions?: object | null }>(
    field: Described,
    audiences: Readonly<Record<FieldAudience, string>> | undefined,
  ): Described => {
    const { access, visibleTo } = (field.extensions ?? {}) as {
      access?: Access;
      visibleTo?: FieldAudience;
    };
    const sentences = [
      access === undefined ? null : describeAccess(access),
      visibleTo === undefined ? null : audiences?.[visibleTo],
    ];
    const what = sentences.filter((sentence) => typeof sentence === 'string').join(' ');
    return { ...field, extensions: what === '' ? {} : { directives: { [NEEDS]: { what } } } };
  };
  const annotated = mapSchema(schema, {
    [MapperKind.OBJECT_FIELD]: (field, _name, type) =>
      annotate(field, AUDIENCES[type === 'Profile' ? 'User' : type]),
    [MapperKind.INPUT_OBJECT_FIELD]: (field) => annotate(field, undefined),
  });
  return { sdl: `${printSchemaWithDirectives(annotated)}\n${DEFINITION}`, scopes };
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
