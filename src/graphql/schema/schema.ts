import { MapperKind, mapSchema } from '@graphql-tools/utils';
import {
  buildSchema,
  defaultFieldResolver,
  getNamedType,
  type GraphQLField,
  type GraphQLFieldConfig,
  GraphQLObjectType,
  GraphQLSchema,
  isIntrospectionType,
  isNonNullType,
  isObjectType,
  lexicographicSortSchema,
  parse,
  printSchema,
} from 'graphql';
import { type Access, scopesOf } from '../../auth/access.js';
import { accessRefusal } from '../../auth/scopes.guard.js';
import type { ServiceError } from '../../common/errors.js';
import type { Config } from '../../config/config.js';
import { isConnection, unboundedSize } from '../analysis/operation-cost.js';
import type { RequestContext } from '../http/request-context.js';
import { addDerivedFields } from './derived-fields.js';
import { addPreviewTypes } from './preview-types.js';
import { asPreview } from './user-errors.js';

type Field = GraphQLFieldConfig<unknown, RequestContext>;

const MUTATION =
  'The previews of changes. Each returns the state after the change and the LDIF that an administrator ' +
  'applies. Nothing is stored.';

const DIRECTIVES = buildSchema(`
  "The scopes that a token needs to select the field, or to give the member of an input. Introspection does not show where it is applied; the descriptions of these fields end with their scopes."
  directive @access("All of these are needed." scopes: [String!]!) on FIELD_DEFINITION | INPUT_FIELD_DEFINITION

  "Who sees the value of the field. For others it is null, without an error, and a filter finds no object by it."
  directive @visibleTo(
    "\`groupAdmins\` or \`self\`, as the model file names them." audience: String!
  ) on FIELD_DEFINITION | INPUT_FIELD_DEFINITION
`);

/** The name that Nest gives to the default resolver of a field. */
const DEFAULT_RESOLVER = 'rootFieldResolver';

/** Adds to the schema that Nest has built what it derives from the model, and from other types. */
export function extendSchema(built: GraphQLSchema, config: Config): GraphQLSchema {
  return addPreviewTypes(addDerivedFields(built, config));
}

/** Finishes the schema that Nest has built. Throws if a field declares no access, or could return any number of objects. */
export function finishSchema(built: GraphQLSchema): GraphQLSchema {
  const problems = undeclaredFields(built);
  if (problems.length > 0) throw new Error(`The schema is not complete:\n${problems.join('\n')}`);
  let hasAudiences = false;
  const config = mapSchema(built, {
    // No class declares the root types.
    [MapperKind.QUERY]: (query) =>
      new GraphQLObjectType({ ...query.toConfig(), description: 'The queries of the service.' }),
    [MapperKind.MUTATION]: (mutation) =>
      new GraphQLObjectType({ ...mutation.toConfig(), description: MUTATION }),
    [MapperKind.MUTATION_ROOT_FIELD]: (field: Field, name, type) =>
      guarded(field.resolve ? { ...field, resolve: asPreview(field.resolve) } : field, `${type}.${name}`),
    [MapperKind.OBJECT_FIELD]: (field: Field, name, type) => {
      hasAudiences ||= field.extensions?.['visibleTo'] !== undefined;
      const { resolve, ...rest } = field;
      // Without Nest's default resolver, graphql-js reads the property itself, with no call for each value.
      return guarded(resolve?.name === DEFAULT_RESOLVER ? rest : field, `${type}.${name}`);
    },
    [MapperKind.INTERFACE_FIELD]: described,
    [MapperKind.INPUT_OBJECT_FIELD]: described,
  }).toConfig();
  const added = DIRECTIVES.getDirectives().filter(
    ({ name }) => name === 'access' || (name === 'visibleTo' && hasAudiences),
  );
  return new GraphQLSchema({ ...config, directives: [...config.directives, ...added] });
}

/** Adds the scopes of a field, or of a member of an input, to its description. */
function described<Described extends { description?: string | null | undefined } & Extended>(
  field: Described,
): Described {
  const scopes = scopesIn(field);
  if (scopes.length === 0) return field;
  const names = scopes.map((scope) => `\`${scope}\``).join(' and ');
  const needed = `Needs the ${scopes.length === 1 ? 'scope' : 'scopes'} ${names}.`;
  return { ...field, description: `${field.description ?? ''} ${needed}`.trimStart() };
}

/** Makes a field null, and notes where it occurs, if the token lacks a scope. Nest's guards do not run around most fields. */
function guarded(field: Field, coordinate: string): Field {
  const access = field.extensions?.['access'] as Access;
  if (access.kind === 'inherited' || access.kind === 'public') return field;
  const { resolve = defaultFieldResolver } = field;
  // An error for each place would cost thirty times as much.
  const refusals = new WeakMap<RequestContext, ServiceError | null>();
  return {
    ...described(field),
    resolve: (source, given, context, info) => {
      let refusal = refusals.get(context);
      if (refusal === undefined) {
        refusal = accessRefusal(access, context.principal, `The field ${coordinate}`);
        refusals.set(context, refusal);
      }
      return refusal === null ? resolve(source, given, context, info) : context.withhold(refusal, info);
    },
  };
}

function undeclaredFields(schema: GraphQLSchema): string[] {
  const types = Object.values(schema.getTypeMap()).filter((type) => isObjectType(type));
  const fields = types
    .filter((type) => !isIntrospectionType(type))
    .flatMap((type) => Object.values(type.getFields()).map((field) => ({ type, field })));
  const pages = fields.filter(({ field }) => isConnection(field));
  const pageTypes = new Set(pages.map(({ field }) => getNamedType(field.type).name));
  const roots = [schema.getQueryType(), schema.getMutationType(), schema.getSubscriptionType()];
  return fields.flatMap(({ type, field }) =>
    [unboundedSize(field, pageTypes.has(type.name)), accessProblem(field, roots.includes(type))]
      .filter((problem) => problem !== null)
      .map((problem) => `${type.name}.${field.name} ${problem}`),
  );
}

function accessProblem({ type, extensions }: GraphQLField<unknown, unknown>, isRoot: boolean): string | null {
  const access = extensions['access'] as Access | undefined;
  if (access === undefined)
    return 'does not say what a token needs: @Public, @RequireToken, @RequireScopes or @InheritAccess';
  if (access.kind === 'inherited' && isRoot)
    return 'is a root field and has nothing to inherit its access from';
  return access.kind === 'scopes' && isNonNullType(type)
    ? 'needs a scope and must be nullable, so that the rest of an answer survives without it'
    : null;
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
    const fields = (schema.getType(definition.name.value) as GraphQLObjectType).getFields();
    for (const node of definition.fields ?? []) {
      const last = ('defaultValue' in node ? node.defaultValue : undefined) ?? node.type;
      printed += `${text.slice(end, last.loc?.end)}${directivesOf(fields[node.name.value] ?? {})}`;
      end = last.loc?.end ?? end;
    }
  }
  return `${printed}${text.slice(end)}\n`;
}

/** The directives of a field or a member of an input, as text. */
function directivesOf(field: Extended): string {
  const scopes = scopesIn(field)
    .map((scope) => JSON.stringify(scope))
    .join(', ');
  const audience = (field.extensions?.['visibleTo'] ?? '') as string;
  return `${scopes && ` @access(scopes: [${scopes}])`}${audience && ` @visibleTo(audience: "${audience}")`}`;
}

interface Extended {
  readonly extensions?: Readonly<Record<string, unknown>> | null | undefined;
}

function scopesIn({ extensions }: Extended): readonly string[] {
  return scopesOf((extensions?.['access'] as Access | undefined) ?? { kind: 'inherited' });
}
