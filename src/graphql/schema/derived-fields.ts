import { MapperKind, mapSchema } from '@graphql-tools/utils';
import { Extensions } from '@nestjs/graphql';
import {
  GraphQLBoolean,
  GraphQLInputObjectType,
  type GraphQLFieldConfig,
  type GraphQLFieldConfigMap,
  GraphQLFloat,
  type GraphQLInputFieldConfigMap,
  type GraphQLInputType,
  GraphQLInt,
  type GraphQLNamedType,
  GraphQLObjectType,
  type GraphQLOutputType,
  type GraphQLSchema,
  GraphQLString,
  type GraphQLType,
  type NamedTypeNode,
  parseType,
  typeFromAST,
  type GraphQLField,
  GraphQLInterfaceType,
} from 'graphql';
import { type Field, type FieldAudience, pluralOf } from '../../common/field.js';
import type { Access, ResolverMethod } from '../../auth/access.js';
import type { Config } from '../../config/config.js';
import type { Match } from '../../common/match.js';
import { type FilterType, filterTypeOf } from '../../database/fields/filters.js';
import type { CacheDependency } from '../cache/cache-policy.decorator.js';
import { DateTime, Url } from './scalars.js';

/** A field of an object type or an input type that no property of a class declares. */
export interface DerivedField {
  readonly name: string;
  readonly type: string;
  readonly description: string;
  /** Scopes that a token needs to read the field, or to give the member of an input. Default: those of the object. */
  readonly scopes?: readonly string[];
  /** The viewers who see the value, or objects that the member of an input finds. Default: all. */
  readonly visibleTo?: FieldAudience;
  readonly isPersonal?: false;
  readonly deprecationReason?: string | undefined;
  /** The root field whose arguments the field has. Default: none. */
  readonly argumentsOf?: 'users' | 'groups';
  /** The method that resolves the field. Default: it is a property. */
  readonly resolver?: ResolverMethod;
  /** Maximum number of objects of a list, which the cost of an operation counts. */
  readonly mostNodes?: number;
}

type Derive = (config: Config) => readonly DerivedField[];

/**
 * Declares that a type has more fields than its class has properties. A table of fields supplies them when
 * the schema is built. A field of an object type is read as a property.
 */
export function DeriveFields(derive: Derive): ClassDecorator {
  return Extensions({ deriveFields: derive });
}

/** Adds the fields of tables to types, and then those that types share to their interfaces. */
export function addDerivedFields(schema: GraphQLSchema, config: Config): GraphQLSchema {
  return addSharedFields(
    mapSchema(schema, {
      [MapperKind.OBJECT_TYPE]: (type) => {
        const { fields, ...own } = type.toConfig();
        const derived = derivedFieldsOf(type, config).map(
          (field) => [field.name, outputField(field, schema)] as const,
        );
        return new GraphQLObjectType({ ...own, fields: { ...fields, ...Object.fromEntries(derived) } });
      },
      [MapperKind.INPUT_OBJECT_TYPE]: (type) => {
        const { fields, ...own } = type.toConfig();
        const derived = derivedFieldsOf(type, config).map(
          (field) => [field.name, inputField(field, schema)] as const,
        );
        return new GraphQLInputObjectType({ ...own, fields: { ...fields, ...Object.fromEntries(derived) } });
      },
    }),
  );
}

function derivedFieldsOf(
  { extensions }: GraphQLObjectType | GraphQLInputObjectType,
  config: Config,
): readonly DerivedField[] {
  return (extensions['deriveFields'] as Derive | undefined)?.(config) ?? [];
}

/** A field that is withheld without a scope, or null for some viewers, is nullable. */
function outputField(field: DerivedField, schema: GraphQLSchema): GraphQLFieldConfig<unknown, unknown> {
  const { type, scopes, visibleTo, argumentsOf: root } = field;
  const isNullable = scopes !== undefined || visibleTo !== undefined;
  const args = root === undefined ? undefined : schema.getQueryType()?.toConfig().fields[root]?.args;
  return {
    ...inputField(field, schema),
    type: typeIn(schema, isNullable ? type.replace(/!$/, '') : type) as GraphQLOutputType,
    args: args ?? {},
    extensions: { access: { kind: 'inherited' } satisfies Access, ...extensionsOf(field) },
  };
}

function inputField(field: DerivedField, schema: GraphQLSchema) {
  const { type, description, deprecationReason } = field;
  const extensions = extensionsOf(field);
  return { type: typeIn(schema, type) as GraphQLInputType, description, deprecationReason, extensions };
}

function extensionsOf(field: DerivedField): Readonly<Record<string, unknown>> {
  const { scopes, visibleTo, isPersonal: personal, resolver, mostNodes } = field;
  const access: Access | undefined = scopes && { kind: 'scopes', scopes };
  const dependsOn: CacheDependency[] | undefined = visibleTo && ['mirror', 'subject'];
  const given = Object.entries({ access, resolver, mostNodes, visibleTo, dependsOn, personal });
  return Object.fromEntries(given.filter(([, value]) => value !== undefined));
}

const SCALARS = [GraphQLBoolean, GraphQLFloat, GraphQLInt, GraphQLString, DateTime, Url] as const;

const AND = 'All conditions must hold. An object without a value never matches.';

const numbers = (type: 'Int' | 'Float') => ({
  is: [type, 'The exact value.'],
  in: [`[${type}!]`, 'One of these values, up to 100.'],
  min: [type, 'The smallest value.'],
  max: [type, 'The greatest value.'],
});

/** What filters by custom fields compare, and the types and descriptions of their members. */
const VALUE_FILTERS: Readonly<Record<FilterType, readonly [string, Readonly<Record<string, string[]>>]>> = {
  StringFilter: [
    'a text, compared as the directory compares it: repeated spaces and forms of the same character are ignored, and what the description of the member of the filter says. Only the first 512 characters count',
    {
      is: ['String', 'The whole text.'],
      in: ['[String!]', 'One of these texts, up to 100.'],
      startsWith: ['String', 'The beginning of the text, up to 128 characters.'],
    },
  ],
  IntFilter: ['a number', numbers('Int')],
  FloatFilter: ['a number', numbers('Float')],
  BooleanFilter: ['a boolean', { is: ['Boolean', 'The value.'] }],
  DateTimeFilter: [
    'an instant',
    { since: ['DateTime', 'The earliest instant.'], until: ['DateTime', 'The latest instant.'] },
  ],
};

/** Types that a schema has only if a derived field uses them. */
const ADDED_TYPES = new Map<string, GraphQLNamedType>(SCALARS.map((type) => [type.name, type]));
for (const [name, [what, members]] of Object.entries(VALUE_FILTERS)) {
  const fields = Object.entries(members).map(([member, [type = '', description]]) => [
    member,
    { type: typeIn(null, type) as GraphQLInputType, description },
  ]);
  ADDED_TYPES.set(
    name,
    new GraphQLInputObjectType({
      name,
      description: `Selects objects by ${what}. ${AND}`,
      fields: Object.fromEntries(fields) as GraphQLInputFieldConfigMap,
    }),
  );
}

/** @throws Error if neither the schema nor the table of types above has the type */
function typeIn(schema: GraphQLSchema | null, text: string): GraphQLType {
  const types = { getType: (name: string) => schema?.getType(name) ?? ADDED_TYPES.get(name) };
  const type = typeFromAST(types as GraphQLSchema, parseType(text) as NamedTypeNode);
  if (type === undefined) throw new Error(`The schema has no type ${text}`);
  return type;
}

/**
 * The members of a filter. One by the value of a custom field needs the scopes of the field; the other fields with a scope
 * are excluded: a filter would allow guessing their values.
 */
export function filtersOf(fields: readonly Field[]): DerivedField[] {
  return fields.flatMap((field): DerivedField[] => {
    const { name, filter, scopes, visibleTo, description, deprecationReason, match = 'caseIgnore' } = field;
    const type = filterTypeOf(field);
    if (type === null) return filter === undefined || scopes !== undefined ? [] : exactFilters(name, filter);
    return [
      {
        ...{ name, type, deprecationReason },
        description: type === 'StringFilter' ? `${description} ${IGNORED[match]}` : description,
        ...(scopes && { scopes }),
        ...(visibleTo && { visibleTo }),
      },
    ];
  });
}

const IGNORED: Readonly<Record<Match, string>> = {
  caseIgnore: 'Case is ignored.',
  caseExact: 'Case is significant.',
  phone: 'Spaces, hyphens, parentheses, periods and slashes are ignored.',
  integer: 'Texts of the same whole number are equal.',
};

/** The members of a filter by one value of a field, or by one of several. */
function exactFilters(name: string, description: string): DerivedField[] {
  const several = `${description} One of these, at most 100.`;
  return [
    { name, type: 'String', description },
    { name: pluralOf(name), type: '[String!]', description: several },
  ];
}

/**
 * Declares that an interface of the type has every field that all types of the interface have, with the same type and
 * arguments. (Nest drops the extensions of interfaces.)
 */
export function ShareFields({ name }: { readonly name: string }): ClassDecorator {
  return Extensions({ sharedFields: name });
}

/** Adds the fields that types share to their interfaces, including derived fields. */
function addSharedFields(schema: GraphQLSchema): GraphQLSchema {
  return mapSchema(schema, {
    [MapperKind.INTERFACE_TYPE]: (type) => {
      const types = schema.getPossibleTypes(type);
      if (!types.some(({ extensions }) => extensions['sharedFields'] === type.name)) return type;
      return new GraphQLInterfaceType({ ...type.toConfig(), fields: fieldsSharedBy(types) });
    },
  });
}

function fieldsSharedBy([first, ...others]: readonly GraphQLObjectType[]): GraphQLFieldConfigMap<
  unknown,
  unknown
> {
  const fields = first?.getFields() ?? {};
  const shared = Object.entries(first?.toConfig().fields ?? {}).filter(([name]) =>
    others.every((other) => signatureOf(other.getFields()[name]) === signatureOf(fields[name])),
  );
  return Object.fromEntries(shared.map(([name, { resolve, ...field }]) => [name, field]));
}

function signatureOf(field: GraphQLField<unknown, unknown> | undefined): string | null {
  if (field === undefined) return null;
  const given = field.args.map(({ name, type, defaultValue }) => [name, String(type), defaultValue]);
  return JSON.stringify([String(field.type), given]);
}
