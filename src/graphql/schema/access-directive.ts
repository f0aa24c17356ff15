import { MapperKind, mapSchema } from '@graphql-tools/utils';
import {
  DirectiveLocation,
  GraphQLDirective,
  GraphQLList,
  GraphQLNonNull,
  GraphQLSchema,
  GraphQLString,
  isInputObjectType,
  isInterfaceType,
  isObjectType,
  lexicographicSortSchema,
  parse,
  printSchema,
  type ConstValueNode,
  type DefinitionNode,
  type TypeNode,
} from 'graphql';
import { type Access, scopesOf } from '../../auth/access.js';
import type { FieldAudience } from '../../common/field.js';

const ACCESS_DIRECTIVE = new GraphQLDirective({
  name: 'access',
  description:
    'The scopes that a token needs to select the field, or to give the member of an input. Introspection does not show where ' +
    'it is applied; the descriptions of these fields end with their scopes.',
  locations: [DirectiveLocation.FIELD_DEFINITION, DirectiveLocation.INPUT_FIELD_DEFINITION],
  args: {
    scopes: {
      type: new GraphQLNonNull(new GraphQLList(new GraphQLNonNull(GraphQLString))),
      description: 'All of these are needed.',
    },
  },
});

/** Only in schemas with such a field. */
const AUDIENCE_DIRECTIVE = new GraphQLDirective({
  name: 'visibleTo',
  description:
    'Who sees the value of the field. For others it is null, without an error, and a filter finds no object by it.',
  locations: [DirectiveLocation.FIELD_DEFINITION, DirectiveLocation.INPUT_FIELD_DEFINITION],
  args: {
    audience: {
      type: new GraphQLNonNull(GraphQLString),
      description: '`groupAdmins` or `self`, as the model file names them.',
    },
  },
});

interface Described {
  readonly description?: string | null | undefined;
  readonly extensions?: Readonly<Record<string, unknown>> | null | undefined;
}

/** The sentence that says which scopes a field needs. */
function describeScopes(scopes: readonly string[]): string {
  const names = scopes.map((scope) => `\`${scope}\``).join(' and ');
  return `Needs the ${scopes.length === 1 ? 'scope' : 'scopes'} ${names}.`;
}

/** Adds the directives `@access` and `@visibleTo` to the schema, and the scopes of fields to their descriptions. */
export function describeAccess(schema: GraphQLSchema): GraphQLSchema {
  const describe = <Field extends Described>(field: Field): Field => {
    const scopes = scopesOfField(field);
    if (scopes.length === 0) return field;
    return { ...field, description: `${field.description ?? ''} ${describeScopes(scopes)}`.trimStart() };
  };
  const described = mapSchema(schema, {
    [MapperKind.OBJECT_FIELD]: describe,
    [MapperKind.INTERFACE_FIELD]: describe,
    [MapperKind.INPUT_OBJECT_FIELD]: describe,
  });
  const config = described.toConfig();
  const directives = hasAudiences(schema) ? [ACCESS_DIRECTIVE, AUDIENCE_DIRECTIVE] : [ACCESS_DIRECTIVE];
  return new GraphQLSchema({ ...config, directives: [...config.directives, ...directives] });
}

function scopesOfField({ extensions }: Described): readonly string[] {
  const access = extensions?.['access'] as Access | undefined;
  return access === undefined ? [] : scopesOf(access);
}

function hasAudiences(schema: GraphQLSchema): boolean {
  const types = Object.values(schema.getTypeMap()).filter(isObjectType);
  return types.some((type) =>
    Object.values(type.getFields()).some((field) => audienceOfField(field) !== undefined),
  );
}

function audienceOfField({ extensions }: Described): FieldAudience | undefined {
  return extensions?.['visibleTo'] as FieldAudience | undefined;
}

/**
 * Returns the schema as text (SDL), sorted, so that the order of the classes does not matter, with `@access` on the fields that
 * need scopes, and `@visibleTo` on those with an audience. (printSchema writes no applied directives.)
 */
export function printSdl(schema: GraphQLSchema): string {
  const text = printSchema(lexicographicSortSchema(schema));
  const nodes = parse(text).definitions.flatMap((definition) => fieldsIn(definition, schema));
  let printed = '';
  let end = 0;
  for (const [{ type, defaultValue }, field] of nodes) {
    const directives = directivesOf(field);
    if (directives === '') continue;
    const at = (defaultValue ?? type).loc?.end ?? end;
    printed += `${text.slice(end, at)}${directives}`;
    end = at;
  }
  return `${printed}${text.slice(end)}\n`;
}

function directivesOf(field: Described): string {
  const scopes = scopesOfField(field);
  const audience = audienceOfField(field);
  const access =
    scopes.length === 0 ? '' : ` @access(scopes: ${JSON.stringify(scopes).replaceAll(',', ', ')})`;
  return audience === undefined ? access : `${access} @visibleTo(audience: "${audience}")`;
}

interface FieldNode {
  readonly type: TypeNode;
  readonly defaultValue?: ConstValueNode | undefined;
}

function fieldsIn(definition: DefinitionNode, schema: GraphQLSchema): (readonly [FieldNode, Described])[] {
  if (!('fields' in definition)) return [];
  const type = schema.getType(definition.name.value);
  if (!isObjectType(type) && !isInterfaceType(type) && !isInputObjectType(type)) return [];
  const fields: Readonly<Record<string, Described>> = type.getFields();
  return (definition.fields ?? []).map((node) => [node, fields[node.name.value] ?? {}]);
}
