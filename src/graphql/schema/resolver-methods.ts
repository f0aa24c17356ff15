import { MapperKind, mapSchema } from '@graphql-tools/utils';
import { ForbiddenException, type Type } from '@nestjs/common';
import {
  EXCEPTION_FILTERS_METADATA,
  GUARDS_METADATA,
  INTERCEPTORS_METADATA,
  PIPES_METADATA,
} from '@nestjs/common/constants.js';
import type { DiscoveryService, ExternalContextCreator, ModuleRef } from '@nestjs/core';
import { ExecutionContextHost } from '@nestjs/core/helpers/execution-context-host.js';
import { FIELD_RESOLVER_MIDDLEWARE_METADATA, PARAM_ARGS_METADATA, Extensions } from '@nestjs/graphql';
import type { GraphQLFieldConfig, GraphQLFieldResolver, GraphQLSchema } from 'graphql';
import { type ResolverMethod, ScopesGuard } from '../../auth/access.js';
import { OAuthGuard } from '../../auth/oauth.guard.js';
import { uncached } from '../cache/cache-policy.decorator.js';

/**
 * Calls a resolver without Nest's pipeline, whose promises cost as much as a small response. Guards still run.
 * The parameters are `@Parent()`, `@Args()`, `@Context()`, `@Info()` in this order (docs/nest.md).
 */
export function Direct(): MethodDecorator {
  return Extensions({ direct: true });
}

type Field = GraphQLFieldConfig<unknown, unknown>;
type Resolve = GraphQLFieldResolver<unknown, unknown>;
type Provider = Record<string, Resolve>;

interface NestResolvers {
  readonly providers: Pick<ModuleRef, 'get'>;
  readonly contexts: ExternalContextCreator;
  readonly discovery: DiscoveryService;
}

/** Metadata of enhancers that do not run on a @Direct method. */
const SKIPPED: Readonly<Record<string, string>> = {
  [INTERCEPTORS_METADATA]: 'interceptors',
  [PIPES_METADATA]: 'pipes',
  [EXCEPTION_FILTERS_METADATA]: 'filters',
  [FIELD_RESOLVER_MIDDLEWARE_METADATA]: 'field middleware',
};

/** Nest's parameter types in the order of graphql-js: parent, arguments, context, info. */
const PARAMETERS = [0, 3, 1, 2];

/**
 * Connects the resolvers of the schema as their decorators declare. Methods with @Direct are called without
 * Nest's pipeline. Fields with a guard of their own are not cached, because a cached response runs no guard.
 * @throws Error if a @Direct method has an enhancer that would not run, or parameters in another order
 */
export function connectResolvers(schema: GraphQLSchema, nest: NestResolvers): GraphQLSchema {
  const globals = nest.discovery.getProviders().filter(isForeignEnhancer);
  const hasGlobalGuard = globals.some(({ subtype }) => subtype === 'guard');
  // @Direct must not bypass anything that is registered for all resolvers.
  const mayBeDirect = globals.every(({ subtype }) => subtype === 'guard');
  const roots = [schema.getQueryType()?.name, schema.getMutationType()?.name];
  const problems: string[] = [];
  const connected = mapSchema(schema, {
    [MapperKind.OBJECT_FIELD]: (field: Field, _name, typeName) => {
      const method = field.extensions?.['resolver'] as ResolverMethod | undefined;
      if (method === undefined) return field;
      const provider = nest.providers.get<Provider>(method.class, { strict: false });
      const resolve = provider[method.name];
      if (resolve === undefined) return field;
      const isGuarded = hasGlobalGuard || isDeclared(GUARDS_METADATA, resolve, method);
      const declared = isGuarded ? uncached(field) : field;
      // Nest has made no resolver for a derived field.
      const isDerived = field.resolve === undefined;
      if (!isDerived && (field.extensions?.['direct'] !== true || !mayBeDirect)) return declared;
      problems.push(...problemsOf(resolve, method));
      if (isGuarded) return { ...declared, resolve: withGuards(provider, method, nest) };
      const isRoot = roots.includes(typeName);
      return { ...declared, resolve: isRoot ? withScopes(provider, method, nest) : resolve.bind(provider) };
    },
  });
  if (problems.length > 0) throw new Error(`Resolvers cannot be @Direct:\n${problems.join('\n')}`);
  return connected;
}

/** Returns the method behind its guards: the global ones, those of its class and its own. */
function withGuards(provider: Provider, { name }: ResolverMethod, { contexts }: NestResolvers): Resolve {
  const options = { guards: true, interceptors: false, filters: false };
  const resolve = provider[name] as (...given: unknown[]) => unknown;
  return contexts.create(
    provider,
    resolve,
    name,
    undefined,
    undefined,
    undefined,
    undefined,
    options,
    'graphql',
  );
}

/**
 * The method behind ScopesGuard alone, which is synchronous: Nest's promises cost more than a small resolver
 * (docs/adr/0036). OAuthGuard has already identified the principal.
 */
function withScopes(provider: Provider, method: ResolverMethod, { providers }: NestResolvers): Resolve {
  const resolve = provider[method.name] as (...given: unknown[]) => unknown;
  const guard = providers.get(ScopesGuard, { strict: false });
  const type = method.class as Type;
  return (...given) => {
    const context = new ExecutionContextHost(given, type, resolve);
    context.setType('graphql');
    if (!guard.canActivate(context)) throw new ForbiddenException();
    return resolve.apply(provider, given);
  };
}

/** Whether a provider is a global guard, interceptor, pipe or filter that is not of this service. */
function isForeignEnhancer({
  subtype,
  instance,
}: ReturnType<DiscoveryService['getProviders']>[number]): boolean {
  return subtype !== undefined && !(instance instanceof OAuthGuard || instance instanceof ScopesGuard);
}

function isDeclared(key: string, resolve: Resolve, method: ResolverMethod): boolean {
  return [resolve, method.class].some((target) => {
    const declared = Reflect.getMetadata(key, target) as readonly unknown[] | undefined;
    return declared !== undefined && declared.length > 0;
  });
}

function problemsOf(resolve: Resolve, method: ResolverMethod): string[] {
  const place = `${method.class.name}.${method.name}`;
  const skipped = Object.entries(SKIPPED).filter(([key]) => isDeclared(key, resolve, method));
  const problems = skipped.map(([, what]) => `${place} has ${what}, which would not run`);
  if (hasUsualParameters(method)) return problems;
  return [
    ...problems,
    `${place} must take @Parent(), @Args(), @Context() and @Info() in this order, without names or pipes`,
  ];
}

interface Parameter {
  readonly index: number;
  readonly data?: unknown;
  readonly pipes?: readonly unknown[];
}

/** Whether the parameters have the order that @Direct requires. Nest stores them by «type:index». */
function hasUsualParameters({ class: type, name }: ResolverMethod): boolean {
  const parameters = (Reflect.getMetadata(PARAM_ARGS_METADATA, type, name) ?? {}) as Record<
    string,
    Parameter
  >;
  return Object.entries(parameters).every(
    ([key, { index, data, pipes = [] }]) =>
      key === `${PARAMETERS[index]}:${index}` && data === undefined && pipes.length === 0,
  );
}
