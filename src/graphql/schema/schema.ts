import { MapperKind, mapSchema } from '@graphql-tools/utils';
import {
  type GraphQLFieldConfig,
  GraphQLObjectType,
  GraphQLSchema,
  isIntrospectionType,
  isNonNullType,
  isObjectType,
  lexicographicSortSchema,
  printSchema,
} from 'graphql';
import type { Access } from '../../auth/access.js';
import { hasScopes, nameOfScopes, type Principal } from '../../auth/principal.js';
import { findDeprecationProblems } from './deprecation.js';
import { pathKey } from '../analysis/operation.js';
import type { RequestContext } from '../http/request-context.js';
import { Url } from './scalars.js';

const MUTATION =
  'What can be previewed: each answers what would be, and the change that an administrator has to make for it. Nothing is stored.';

/** The name that Nest gives to the resolver of a field that has none of its own. */
const DEFAULT_RESOLVER = 'rootFieldResolver';

/**
 * Finishes the schema that Nest has built from the classes.
 * @throws Error when a field does not declare what it takes to select it, or a deprecation does not tell its dates, so
 *   that such a schema never serves
 */
export function finishSchema(built: GraphQLSchema): GraphQLSchema {
  const problems = [...undeclaredFields(built), ...findDeprecationProblems(built)];
  if (problems.length > 0) throw new Error(`The schema is not complete:\n${problems.join('\n')}`);
  const schema = mapSchema(built, {
    [MapperKind.QUERY]: (query) => describe(query, 'What can be asked.'),
    [MapperKind.MUTATION]: (mutation) => describe(mutation, MUTATION),
    [MapperKind.OBJECT_FIELD]: withoutDefaultResolver,
    [MapperKind.MUTATION_ROOT_FIELD]: overOverlay,
  });
  const { types, ...config } = schema.toConfig();
  // Types that the contract has and no field uses yet.
  return new GraphQLSchema({ ...config, types: [...types, Url] });
}

/** The schema as text (SDL), in an order that does not depend on that of the classes. */
export function printSdl(schema: GraphQLSchema): string {
  return `${printSchema(lexicographicSortSchema(schema))}\n`;
}

/** The root types are the only ones that no class of ours declares. */
function describe(root: GraphQLObjectType, description: string): GraphQLObjectType {
  return new GraphQLObjectType({ ...root.toConfig(), description });
}

/** Every mutation runs as one change of its operation's preview, whatever it does. */
function overOverlay(
  field: GraphQLFieldConfig<unknown, RequestContext>,
): GraphQLFieldConfig<unknown, RequestContext> {
  const { resolve } = field;
  if (resolve === undefined) return field;
  return {
    ...field,
    resolve: (source, given, context, info) =>
      context.change(() => Promise.resolve(resolve(source, given, context, info))),
  };
}

/** A field without a resolver is read as a property, directly: a resolver that does the same costs a call each. */
function withoutDefaultResolver(
  field: GraphQLFieldConfig<unknown, unknown>,
): GraphQLFieldConfig<unknown, unknown> {
  if (field.resolve?.name !== DEFAULT_RESOLVER) return field;
  const { resolve, ...rest } = field;
  return rest;
}

function undeclaredFields(schema: GraphQLSchema): string[] {
  const problems: string[] = [];
  for (const type of Object.values(schema.getTypeMap())) {
    if (!isObjectType(type) || isIntrospectionType(type)) continue;
    const isRoot = [schema.getQueryType(), schema.getMutationType(), schema.getSubscriptionType()].includes(
      type,
    );
    for (const field of Object.values(type.getFields())) {
      const coordinate = `${type.name}.${field.name}`;
      const access = field.extensions['access'] as Access | undefined;
      if (access === undefined) {
        problems.push(
          `${coordinate} does not say what a token needs: @Public, @RequireToken, @RequireScopes or @InheritAccess`,
        );
      } else if (access.kind === 'inherited' && isRoot) {
        problems.push(`${coordinate} is a root field and has nothing to inherit its access from`);
      } else if (access.kind === 'scopes' && isNonNullType(field.type)) {
        problems.push(
          `${coordinate} needs a scope and must be nullable, so that the rest of an answer survives without it`,
        );
      }
    }
  }
  return problems;
}

/**
 * The schema as the tokens with certain scopes see it: what they do not reach is null. One for each set of
 * scopes, made when it is first needed.
 */
export class ScopedSchemas {
  private readonly views = new Map<string, GraphQLSchema>();

  constructor(private readonly whole: GraphQLSchema) {}

  for(principal: Principal): GraphQLSchema {
    const name = nameOfScopes(principal);
    let view = this.views.get(name);
    if (view === undefined) {
      view = mapSchema(this.whole, {
        [MapperKind.OBJECT_FIELD]: (field) =>
          isReached(field, principal) ? field : { ...field, resolve: withhold },
      });
      this.views.set(name, view);
    }
    return view;
  }
}

function isReached(field: GraphQLFieldConfig<unknown, unknown>, principal: Principal): boolean {
  const access = field.extensions?.['access'] as Access;
  return access.kind !== 'scopes' || hasScopes(principal, access.scopes);
}

/** Notes where the field was left out first: the error of the selection tells that place. */
const withhold: NonNullable<GraphQLFieldConfig<unknown, RequestContext>['resolve']> = (
  _source,
  _arguments,
  context,
  info,
) => {
  const path: (string | number)[] = [];
  for (let step: typeof info.path | undefined = info.path; step !== undefined; step = step.prev)
    path.unshift(step.key);
  const names = path.filter((step) => typeof step === 'string');
  const key = pathKey(names, info.parentType.name, info.fieldName);
  if (!context.withheldAt.has(key)) context.withheldAt.set(key, path);
  return null;
};
