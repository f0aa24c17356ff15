import { MapperKind, mapSchema } from '@graphql-tools/utils';
import {
  DirectiveLocation,
  GraphQLDirective,
  GraphQLList,
  GraphQLNonNull,
  GraphQLSchema,
  type GraphQLObjectType,
  GraphQLString,
  lexicographicSortSchema,
  parse,
  printSchema,
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

const scopesIn = ({ extensions }: Described): readonly string[] => {
  const access = extensions?.['access'] as Access | undefined;
  return access === undefined ? [] : scopesOf(access);
};
const audienceOf = ({ extensions }: Described) => extensions?.['visibleTo'] as FieldAudience | undefined;

/** Adds the directives `@access` and `@visibleTo` to the schema, and the scopes of fields to their descriptions. */
export function describeAccess(schema: GraphQLSchema): GraphQLSchema {
  const audiences = new Set<FieldAudience>();
  const describe = <Field extends Described>(field: Field): Field => {
    const audience = audienceOf(field);
    if (audience !== undefined) audiences.add(audience);
    const scopes = scopesIn(field);
    if (scopes.length === 0) return field;
    const names = scopes.map((scope) => `\`${scope}\``).join(' and ');
    const needed = `Needs the ${scopes.length === 1 ? 'scope' : 'scopes'} ${names}.`;
    return { ...field, description: `${field.description ?? ''} ${needed}`.trimStart() };
  };
  const config = mapSchema(schema, {
    [MapperKind.OBJECT_FIELD]: describe,
    [MapperKind.INTERFACE_FIELD]: describe,
    [MapperKind.INPUT_OBJECT_FIELD]: describe,
  }).toConfig();
  const directives = audiences.size > 0 ? [ACCESS_DIRECTIVE, AUDIENCE_DIRECTIVE] : [ACCESS_DIRECTIVE];
  return new GraphQLSchema({ ...config, directives: [...config.directives, ...directives] });
}

/**
 * Returns the schema as text (SDL), sorted, so that the order of the classes does not matter, with `@access` on the fields that
 * need scopes, and `@visibleTo` on those with an audience. (printSchema writes no applied directives.)
 */
export function printSdl(schema: GraphQLSchema): string {
  const text = printSchema(lexicographicSortSchema(schema));
  let printed = '';
  let end = 0;
  for (const definition of parse(text).definitions) {
    if (!('fields' in definition)) continue;
    const type = schema.getType(definition.name.value) as Pick<GraphQLObjectType, 'getFields'>;
    for (const node of definition.fields ?? []) {
      const directives = directivesOf(type.getFields()[node.name.value] ?? {});
      if (directives === '') continue;
      const last = ('defaultValue' in node ? node.defaultValue : undefined) ?? node.type;
      printed += `${text.slice(end, last.loc?.end)}${directives}`;
      end = last.loc?.end ?? end;
    }
  }
  return `${printed}${text.slice(end)}\n`;
}

function directivesOf(field: Described): string {
  const scopes = scopesIn(field);
  const audience = audienceOf(field);
  const access =
    scopes.length === 0 ? '' : ` @access(scopes: ${JSON.stringify(scopes).replaceAll(',', ', ')})`;
  return audience === undefined ? access : `${access} @visibleTo(audience: "${audience}")`;
}
