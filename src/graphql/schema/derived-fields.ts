import { MapperKind, mapSchema } from '@graphql-tools/utils';
import { Extensions } from '@nestjs/graphql';
import {
  type GraphQLInputFieldConfigMap,
  GraphQLInputObjectType,
  type GraphQLFieldConfigMap,
  type GraphQLInputType,
  GraphQLObjectType,
  type GraphQLOutputType,
  type GraphQLSchema,
  type GraphQLType,
  type NamedTypeNode,
  parseType,
  typeFromAST,
} from 'graphql';
import type { Field } from '../../common/field.js';
import type { Access } from '../../auth/access.js';
import type { Config } from '../../config/config.js';
import type { Scope } from '../../auth/principal.js';

/** A field of an object type or an input type that no property of a class declares. */
export interface DerivedField {
  readonly name: string;
  readonly type: string;
  readonly description: string;
  /** Scopes that a token needs to read the field, or to give the member of an input. Default: those of the object. */
  readonly scopes?: readonly string[];
}

type Derive = (config: Config) => readonly DerivedField[];

/**
 * Declares that a type has more fields than its class has properties. A table of fields supplies them when
 * the schema is built. A field of an object type is read as a property.
 */
export function DeriveFields(derive: Derive): ClassDecorator {
  return Extensions({ deriveFields: derive });
}

export function addDerivedFields(schema: GraphQLSchema, config: Config): GraphQLSchema {
  return mapSchema(schema, {
    [MapperKind.OBJECT_TYPE]: (type) => {
      const derived = derivedFieldsOf(type, config);
      if (derived.length === 0) return type;
      const fields: GraphQLFieldConfigMap<unknown, unknown> = Object.fromEntries(
        derived.map(({ name, type: text, description, scopes }) => [
          name,
          {
            type: typeIn(schema, text) as GraphQLOutputType,
            description,
            extensions: { access: accessOf(scopes) },
          },
        ]),
      );
      const own = type.toConfig();
      return new GraphQLObjectType({ ...own, fields: { ...own.fields, ...fields } });
    },
    [MapperKind.INPUT_OBJECT_TYPE]: (type) => {
      const derived = derivedFieldsOf(type, config);
      if (derived.length === 0) return type;
      const fields: GraphQLInputFieldConfigMap = Object.fromEntries(
        derived.map(({ name, type: text, description, scopes }) => [
          name,
          {
            type: typeIn(schema, text) as GraphQLInputType,
            description,
            extensions: scopes === undefined ? {} : { access: accessOf(scopes) },
          },
        ]),
      );
      const own = type.toConfig();
      return new GraphQLInputObjectType({ ...own, fields: { ...own.fields, ...fields } });
    },
  });
}

function derivedFieldsOf(
  { extensions }: GraphQLObjectType | GraphQLInputObjectType,
  config: Config,
): readonly DerivedField[] {
  return (extensions['deriveFields'] as Derive | undefined)?.(config) ?? [];
}

function accessOf(scopes: readonly string[] | undefined): Access {
  return scopes === undefined ? { kind: 'inherited' } : { kind: 'scopes', scopes: scopes as Scope[] };
}

/** @throws Error if the schema does not have the type */
function typeIn(schema: GraphQLSchema, text: string): GraphQLType {
  const type = typeFromAST(schema, parseType(text) as NamedTypeNode);
  if (type === undefined) throw new Error(`The schema has no type ${text}`);
  return type;
}

/** The members of a filter. Fields with a scope are excluded: a filter would allow guessing their values. */
export function filtersOf(fields: readonly Field[]): DerivedField[] {
  return fields.flatMap(({ name, filter, scopes }) =>
    filter === undefined || scopes !== undefined ? [] : [{ name, type: 'String', description: filter }],
  );
}
