import {
  GraphQLScalarType,
  buildSchema,
  type GraphQLFieldConfig,
  type GraphQLFieldConfigMap,
  GraphQLInputObjectType,
  type GraphQLInputType,
  GraphQLInterfaceType,
  type GraphQLNamedType,
  GraphQLObjectType,
  type GraphQLOutputType,
  type GraphQLSchema,
  type GraphQLType,
  type NamedTypeNode,
  parseType,
  typeFromAST,
  type GraphQLResolveInfo,
} from 'graphql';
import { GraphQLDateTime, GraphQLURL } from 'graphql-scalars';
import { MapperKind, mapSchema } from '@graphql-tools/utils';
import { Extensions } from '@nestjs/graphql';
import { type Field, type FieldAudience, isList, MOST_REFERENCES } from '../../common/field.js';
import type { Access, ResolverMethod } from '../../auth/access.js';
import type { Config } from '../../config/config.js';
import type { Match } from '../../common/match.js';
import { filterTypeOf } from '../../database/fields/filters.js';
import type { CacheDependency } from '../cache/response-cache.js';
import type { DirectoryMapping } from '../../config/model/mapping.js';
import { type ObjectKind, referenceFields } from '../../database/fields/projection.js';
import type { RequestContext } from '../http/request-context.js';

/** An instant. Input may have any offset (RFC 3339 §5.6); output is UTC. */
export const DateTime = new GraphQLScalarType({
  ...GraphQLDateTime.toConfig(),
  // The mirror stores instants of custom fields in the form of the output.
  serialize: (value) =>
    typeof value === 'string' && value.length === 24 && value.endsWith('Z')
      ? value
      : GraphQLDateTime.serialize(value),
  specifiedByURL: 'https://scalars.graphql.org/andimarek/date-time.html',
  description: 'An instant in UTC with milliseconds, as in RFC 3339: 2026-03-01T08:15:30.000Z.',
});

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
  readonly resolver?: ResolverMethod;
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

/**
 * Adds the fields of tables to types. An interface with an interface of its own then has every field that all its types have, with
 * the same type.
 */
export function addDerivedFields(schema: GraphQLSchema, config: Config): GraphQLSchema {
  const derivedBy = ({ extensions }: GraphQLNamedType) =>
    (extensions['deriveFields'] as Derive | undefined)?.(config) ?? [];
  const extended = mapSchema(schema, {
    [MapperKind.OBJECT_TYPE]: (type) => {
      const { fields, ...own } = type.toConfig();
      const derived = derivedBy(type).map((field) => [field.name, outputField(field, schema)] as const);
      return new GraphQLObjectType({ ...own, fields: { ...fields, ...Object.fromEntries(derived) } });
    },
    [MapperKind.INPUT_OBJECT_TYPE]: (type) => {
      const { fields, ...own } = type.toConfig();
      const derived = derivedBy(type).map((field) => [field.name, inputField(field, schema)] as const);
      return new GraphQLInputObjectType({ ...own, fields: { ...fields, ...Object.fromEntries(derived) } });
    },
  });
  return mapSchema(extended, {
    [MapperKind.INTERFACE_TYPE]: (type) => {
      if (type.getInterfaces().length === 0) return type;
      const fields = fieldsSharedBy(extended.getPossibleTypes(type));
      return new GraphQLInterfaceType({ ...type.toConfig(), fields });
    },
  });
}

/** A field that is withheld without a scope, or null for some viewers, is nullable. */
function outputField(field: DerivedField, schema: GraphQLSchema): GraphQLFieldConfig<unknown, unknown> {
  const { type, scopes, visibleTo, argumentsOf: root = '' } = field;
  const isNullable = scopes !== undefined || visibleTo !== undefined;
  return {
    ...inputField(field, schema),
    type: typeIn(schema, isNullable ? type.replace(/!$/, '') : type) as GraphQLOutputType,
    args: schema.getQueryType()?.toConfig().fields[root]?.args ?? {},
  };
}

function inputField(field: DerivedField, schema: GraphQLSchema) {
  const { type, description, deprecationReason, scopes, visibleTo, resolver, mostNodes, isPersonal } = field;
  const access: Access = scopes ? { kind: 'scopes', scopes } : { kind: 'inherited' };
  const dependsOn: CacheDependency[] | undefined = visibleTo && ['mirror', 'subject'];
  const extensions = { access, resolver, mostNodes, visibleTo, dependsOn, personal: isPersonal };
  return { type: typeIn(schema, type) as GraphQLInputType, description, deprecationReason, extensions };
}

const AND = 'All conditions must hold. An object without a value never matches.';

const numbers = (type: 'Int' | 'Float') => `
  "The exact value." is: ${type}
  "One of these values, up to 100." in: [${type}!]
  "The smallest value." min: ${type}
  "The greatest value." max: ${type}`;

/** What filters by custom fields compare. A schema has those that a derived field uses. */
const VALUE_FILTERS = buildSchema(`
  scalar DateTime

  "Selects objects by a text, compared as the directory compares it: repeated spaces and forms of the same character are ignored, and what the description of the member of the filter says. Only the first 512 characters count. ${AND}"
  input StringFilter {
    "The whole text." is: String
    "One of these texts, up to 100." in: [String!]
    "The beginning of the text, up to 128 characters." startsWith: String
  }

  "Selects objects by a number. ${AND}"
  input IntFilter { ${numbers('Int')} }

  "Selects objects by a number. ${AND}"
  input FloatFilter { ${numbers('Float')} }

  "Selects objects by a boolean. ${AND}"
  input BooleanFilter { "The value." is: Boolean }

  "Selects objects by an instant. ${AND}"
  input DateTimeFilter {
    "The earliest instant." since: DateTime
    "The latest instant." until: DateTime
  }`);

/** @throws Error if the schema has no such type, and cannot have it */
function typeIn(schema: GraphQLSchema, text: string): GraphQLType {
  const known = (name: string) =>
    schema.getType(name) ?? (name === GraphQLURL.name ? GraphQLURL : VALUE_FILTERS.getType(name));
  const type = typeFromAST({ getType: known } as GraphQLSchema, parseType(text) as NamedTypeNode);
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
    { name: `${name}s`, type: '[String!]', description: several },
  ];
}

function fieldsSharedBy(types: readonly GraphQLObjectType[]): GraphQLFieldConfigMap<unknown, unknown> {
  const [first = {}, ...others] = types.map((type) => type.toConfig().fields);
  const shared = Object.entries(first).filter(([name, field]) =>
    others.every((other) => String(other[name]?.type) === String(field.type)),
  );
  return Object.fromEntries(shared.map(([name, { resolve, ...field }]) => [name, field]));
}

/** Resolves references of custom fields. The token by which src/field-references provides it. */
export abstract class ReferenceResolver {
  abstract one(...given: Given): unknown;
  abstract list(...given: Given): unknown;
  abstract reverse(...given: Given): unknown;
}

type Given = [parent: Parent, given: unknown, context: RequestContext, info: GraphQLResolveInfo];

export interface Parent {
  readonly key: number;
}

/** The references of users or groups, and the connections of those that refer to them. */
export function referenceFieldsOf({ users, groups }: DirectoryMapping, kind: ObjectKind): DerivedField[] {
  const sides = [
    { fields: referenceFields(users.fields), from: 'user', type: 'UserConnection', list: 'users' },
    { fields: referenceFields(groups.fields), from: 'group', type: 'GroupConnection', list: 'groups' },
  ] as const;
  return sides.flatMap(({ fields, from, type, list }) =>
    fields.flatMap((field) => {
      const { name, reference } = field;
      // A reference leads beyond the parent, to objects that only tokens with `read` may read.
      const shared = { ...field, scopes: [...new Set(['read', ...(field.scopes ?? [])])] };
      const own: DerivedField[] = isList(field)
        ? [{ ...shared, resolver: { class: ReferenceResolver, name: 'list' }, mostNodes: MOST_REFERENCES }]
        : [{ ...shared, resolver: { class: ReferenceResolver, name: 'one' } }];
      const reverse: DerivedField = {
        ...shared,
        name: reference.reverse ?? '',
        type,
        description: `The ${list} that have this ${kind} as \`${name}\`, page by page.`,
        argumentsOf: list,
        resolver: { class: ReferenceResolver, name: 'reverse' },
      };
      return [
        ...(from === kind ? own : []),
        ...(reference.to === kind && reference.reverse !== null ? [reverse] : []),
      ];
    }),
  );
}
