import { MapperKind, mapSchema, printSchemaWithDirectives } from '@graphql-tools/utils';
import {
  getNamedType,
  type GraphQLFieldConfigMap,
  GraphQLList,
  GraphQLNonNull,
  GraphQLObjectType,
  type GraphQLOutputType,
  GraphQLSchema,
  isAbstractType,
  isIntrospectionType,
  isListType,
  isNonNullType,
  isObjectType,
  type GraphQLFieldResolver,
  buildSchema,
  defaultFieldResolver,
  type GraphQLFieldConfig,
  lexicographicSortSchema,
} from 'graphql';
import { nodeIdOf } from '../../common/identity.js';
import { ObjectType } from '@nestjs/graphql';
import { asServiceError, BadUserInputError } from '../../common/errors.js';
import { countError } from '../errors/error-response.js';
import type { RequestContext } from '../http/request-context.js';
import { describedEnum, Shown } from './connection.js';
import { type Access, hasScopes, scopesOf } from '../../auth/access.js';
import { accessRefusal } from '../../auth/scopes.guard.js';
import type { Config } from '../../config/config.js';
import { isConnection, unboundedSize } from '../analysis/operation-cost.js';
import { addDerivedFields } from './derived-fields.js';

const NODE_ID =
  'Identifies the preview of the object. It is not the `nodeId` of the object, and no query finds it, so that a cache keeps the ' +
  'two apart. Opaque.';

/**
 * Gives the objects below the payloads of mutations types of their own. A normalizing cache stores an object by its type and
 * identity, and would otherwise show previewed values as those of the directory. The types have the same fields, resolved by the
 * same code.
 */
function addPreviewTypes(schema: GraphQLSchema): GraphQLSchema {
  const mutations = Object.values(schema.getMutationType()?.getFields() ?? {});
  const payloads = new Set(mutations.map(({ type }) => getNamedType(type).name));
  const previews = new Map<string, GraphQLObjectType>();
  const previewIn = (type: GraphQLOutputType): GraphQLOutputType => {
    if (isNonNullType(type)) return new GraphQLNonNull(previewIn(type.ofType));
    if (isListType(type)) return new GraphQLList(previewIn(type.ofType));
    if (isAbstractType(type)) throw new Error(`${type.name} is below a payload and has no type for previews`);
    if (!isObjectType(type) || !leadsToNode(type)) return type;
    const preview = previews.get(type.name) ?? previewOf(type);
    previews.set(type.name, preview);
    return preview;
  };
  const withPreviews = (fields: GraphQLFieldConfigMap<unknown, unknown>) =>
    Object.fromEntries(
      Object.entries(fields).map(([name, field]) => [name, { ...field, type: previewIn(field.type) }]),
    );
  const previewOf = (type: GraphQLObjectType): GraphQLObjectType => {
    const { description, extensions, fields, ...config } = type.toConfig();
    // `GroupConnection` becomes `GroupPreviewConnection`, and `User` becomes `UserPreview`.
    const name = type.name.replace(/(?=(?:Connection|Edge)$)|$/, 'Preview');
    const resolve = (object: unknown) => nodeIdOf(name, (object as { entryUuid: string }).entryUuid);
    const nodeId = isNode(type) && fields['nodeId'] && { ...fields['nodeId'], description: NODE_ID, resolve };
    return new GraphQLObjectType({
      ...config,
      name,
      description: `${description ?? ''} It has the values after a previewed change, and is not a \`${type.name}\`.`,
      interfaces: [],
      extensions: { ...extensions, previewOf: type.name },
      fields: () => withPreviews({ ...fields, ...(nodeId && { nodeId }) }),
    });
  };
  return mapSchema(schema, {
    [MapperKind.OBJECT_TYPE]: (type) => {
      if (!payloads.has(type.name)) return type;
      const { fields, ...config } = type.toConfig();
      return new GraphQLObjectType({ ...config, fields: withPreviews(fields) });
    },
  });
}

function isNode(type: GraphQLObjectType): boolean {
  return type.getInterfaces().some(({ name }) => name === 'Node');
}

/** Whether an object of the type is one with an identity, or has one in a field at any depth. */
function leadsToNode(type: GraphQLObjectType, seen = new Set<string>()): boolean {
  if (isNode(type)) return true;
  seen.add(type.name);
  return Object.values(type.getFields()).some((field) => {
    const named = getNamedType(field.type);
    return isObjectType(named) && !seen.has(named.name) && leadsToNode(named, seen);
  });
}

const UserErrorCode = describedEnum(
  'UserErrorCode',
  'The failures of a mutation that a client can foresee.',
  {
    BAD_USER_INPUT: 'A value of the input is not valid, or nothing would change.',
    CONFLICT: 'The directory would reject or misunderstand the change.',
    FORBIDDEN: 'The user for whom the token acts may not make the change.',
    NOT_FOUND: 'An object that the input names does not exist.',
  },
);

@ObjectType({ description: 'An expected failure of a mutation.' })
export class UserError {
  @Shown(() => UserErrorCode, 'The kind of the failure.')
  code!: keyof typeof UserErrorCode;

  @Shown(() => String, 'The failure in English, for people. It may change.')
  message!: string;

  @Shown(
    () => [String],
    'The names that lead from the arguments of the mutation to the rejected value, such as `input`, `email`.',
  )
  path!: string[];
}

const LONGEST_CLIENT_MUTATION_ID = 256;

type Resolve = GraphQLFieldResolver<unknown, RequestContext>;

/**
 * Runs a mutation as one change in the preview transaction of its operation. An expected failure undoes it, and is data: the payload
 * then has `userErrors`, and no objects.
 */
function asPreview(resolve: Resolve): Resolve {
  return async (source, given: { input?: { clientMutationId?: string | null } }, context, info) => {
    const clientMutationId = given.input?.clientMutationId ?? null;
    try {
      if ((clientMutationId?.length ?? 0) > LONGEST_CLIENT_MUTATION_ID)
        throw new BadUserInputError('clientMutationId is too long', 'clientMutationId');
      const payload = await context.change(
        async () => (await resolve(source, given, context, info)) as object,
      );
      return { ...payload, clientMutationId, userErrors: [] };
    } catch (error) {
      const failure = asServiceError(error);
      if (failure === null || !(failure.code in UserErrorCode)) throw error;
      const { code, message, details } = failure;
      countError(code);
      const path = [...new Set(['input', details.argument ?? 'input'])];
      return { clientMutationId, userErrors: [{ code, message, path }] };
    }
  };
}

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

export function extendSchema(built: GraphQLSchema, config: Config): GraphQLSchema {
  return addPreviewTypes(addDerivedFields(built, config));
}

/** Finishes the schema that Nest has built. Throws if a field declares no access. */
export function finishSchema(built: GraphQLSchema): GraphQLSchema {
  refuseUnboundedLists(built);
  const config = mapSchema(built, {
    // No class declares the root types.
    [MapperKind.QUERY]: (query) =>
      new GraphQLObjectType({ ...query.toConfig(), description: 'The queries of the service.' }),
    [MapperKind.MUTATION]: (mutation) =>
      new GraphQLObjectType({ ...mutation.toConfig(), description: MUTATION }),
    [MapperKind.MUTATION_ROOT_FIELD]: (field: Field, name, type) =>
      guarded(field.resolve ? { ...field, resolve: asPreview(field.resolve) } : field, `${type}.${name}`),
    [MapperKind.OBJECT_FIELD]: (field: Field, name, type) =>
      guarded(readsProperty(field, name) ? { ...field, resolve: undefined } : field, `${type}.${name}`),
    [MapperKind.INTERFACE_FIELD]: described,
    [MapperKind.INPUT_OBJECT_FIELD]: described,
  }).toConfig();
  return new GraphQLSchema({ ...config, directives: DIRECTIVES.getDirectives() });
}

/** Whether a resolver of Nest reads the property of this name, without a default: graphql-js does that with no call for each value. */
function readsProperty({ resolve }: Field, name: string): boolean {
  const read = resolve as ((root: object) => unknown) | undefined;
  return read?.name === 'rootFieldResolver' && read({ [name]: name }) === name && read({}) === undefined;
}

/** Adds to a field what printSdl shows of its access, and to its description the scopes. */
function described<Described extends Pick<Field, 'description' | 'extensions'>>(field: Described): Described {
  const { extensions, description } = field;
  const scopes = scopesOf((extensions?.['access'] as Access | undefined) ?? { kind: 'inherited' });
  const audience = extensions?.['visibleTo'];
  const directives = {
    ...(scopes.length > 0 && { access: { scopes } }),
    ...(audience !== undefined && { visibleTo: { audience } }),
  };
  const names = scopes.map((scope) => `\`${scope}\``).join(' and ');
  const needed = scopes.length > 0 ? ` Needs the ${scopes.length === 1 ? 'scope' : 'scopes'} ${names}.` : '';
  const shown = `${description ?? ''}${needed}`.trimStart();
  return { ...field, description: shown, extensions: { ...extensions, directives } };
}

/** Throws if an operation could request any number of objects by a field, at no cost. */
function refuseUnboundedLists(schema: GraphQLSchema): void {
  const types = Object.values(schema.getTypeMap()).filter((type) => isObjectType(type));
  const fields = types
    .filter((type) => !isIntrospectionType(type))
    .flatMap((type) => Object.values(type.getFields()).map((field) => ({ type, field })));
  const pages = fields.filter(({ field }) => isConnection(field));
  const pageTypes = new Set(pages.map(({ field }) => getNamedType(field.type).name));
  const problems = fields.flatMap(({ type, field }) => {
    const problem = unboundedSize(field, pageTypes.has(type.name));
    return problem === null ? [] : [`${type.name}.${field.name} ${problem}`];
  });
  if (problems.length > 0) throw new Error(problems.join('\n'));
}

/** Refuses a field at each of its places if the token lacks a scope. Nest's guards do not run around most fields. */
function guarded(field: Field, coordinate: string): Field {
  const access = accessOf(field, coordinate);
  if (access.kind === 'inherited' || access.kind === 'public') return described(field);
  const { resolve = defaultFieldResolver } = field;
  const scopes = scopesOf(access);
  return {
    ...described(field),
    resolve: (source, given, context, info) => {
      const { principal } = context;
      return principal !== null && hasScopes(principal, scopes)
        ? resolve(source, given, context, info)
        : context.refuse(() => accessRefusal(access, principal, `The field ${coordinate}`), info);
    },
  };
}

/** @throws Error if a field does not say what a token needs, or cannot be null without its scope */
function accessOf({ extensions, type }: Field, coordinate: string): Access {
  const access = extensions?.['access'] as Access | undefined;
  const isRoot = /^(Query|Mutation)\./.test(coordinate);
  if (access === undefined || (isRoot && access.kind === 'inherited'))
    throw new Error(`${coordinate} does not say what a token needs: @Public, @RequireToken, @RequireScopes`);
  if (access.kind === 'scopes' && isNonNullType(type))
    throw new Error(`${coordinate} needs a scope, and must be nullable`);
  return access;
}

/** The schema as text (SDL), sorted, so that the order of the classes does not matter, with the directives that `described` adds. */
export function printSdl(schema: GraphQLSchema): string {
  return `${printSchemaWithDirectives(lexicographicSortSchema(schema))}\n`;
}
