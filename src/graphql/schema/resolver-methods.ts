import { MapperKind, mapSchema } from '@graphql-tools/utils';
import {
  EXCEPTION_FILTERS_METADATA,
  GUARDS_METADATA,
  INTERCEPTORS_METADATA,
  PIPES_METADATA,
} from '@nestjs/common/constants.js';
import type { ApplicationConfig, DiscoveryService, ExternalContextCreator } from '@nestjs/core';
import { FIELD_RESOLVER_MIDDLEWARE_METADATA, PARAM_ARGS_METADATA } from '@nestjs/graphql';
import { GqlParamtype } from '@nestjs/graphql/dist/enums/gql-paramtype.enum.js';
import { createArgsMapper } from '@nestjs/graphql/dist/utils/map-args-to-props.util.js';
import type { GraphQLFieldConfig, GraphQLFieldResolver, GraphQLSchema } from 'graphql';
import type { ResolverMethod } from '../../auth/access.js';
import { OAuthGuard } from '../../auth/oauth.guard.js';
import { ScopesGuard } from '../../auth/scopes.guard.js';
import { RethrowFilter } from '../../http/rejection.js';
import { uncached } from '../cache/cache-policy.decorator.js';

type Field = GraphQLFieldConfig<unknown, unknown>;
type Given = Parameters<GraphQLFieldResolver<unknown, unknown>>;
type Method = (...given: readonly unknown[]) => unknown;
type Call = (...given: Given) => unknown;
type Provider = Record<string, Method>;
type Wrapper = ReturnType<DiscoveryService['getProviders']>[number];

export interface NestResolvers {
  readonly application: ApplicationConfig;
  readonly contexts: ExternalContextCreator;
  readonly discovery: DiscoveryService;
}

/** What Nest can run around a method. */
const ENHANCERS = [
  GUARDS_METADATA,
  INTERCEPTORS_METADATA,
  PIPES_METADATA,
  EXCEPTION_FILTERS_METADATA,
  FIELD_RESOLVER_MIDDLEWARE_METADATA,
];

/**
 * Connects the fields of the schema with the methods of their resolvers. Nest's pipeline runs around a method with a guard, an
 * interceptor, a pipe, a filter or field middleware, and around one with other parameters than Nest's own. Every other method is
 * called directly, because the promises of the pipeline cost as much as a small response (docs/adr/0036): the policy has decided what
 * ScopesGuard would. Fields behind the pipeline are not cached.
 */
export function connectResolvers(schema: GraphQLSchema, nest: NestResolvers): GraphQLSchema {
  const isEnhanced = hasForeignGlobals(nest.application);
  const wrappers = nest.discovery.getProviders();
  return mapSchema(schema, {
    [MapperKind.OBJECT_FIELD]: (field: Field) => {
      const method = field.extensions?.['resolver'] as ResolverMethod | undefined;
      if (method === undefined) return field;
      const provider = providerOf(method, wrappers);
      // A cached response would skip what runs around the method.
      if (isEnhanced || has(ENHANCERS, method)) {
        // Nest has made no resolver for a derived field.
        if (field.resolve !== undefined || provider === null) return uncached(field);
        return { ...uncached(field), resolve: behindEnhancers(provider, method, nest) };
      }
      const resolve = provider && callerOf(provider, method);
      return resolve === null ? field : { ...field, resolve };
    },
  });
}

/** Whether there are global enhancers beside those of this service. */
function hasForeignGlobals(application: ApplicationConfig): boolean {
  return [
    ...application.getGlobalGuards(),
    ...application.getGlobalRequestGuards(),
    ...application.getGlobalInterceptors(),
    ...application.getGlobalRequestInterceptors(),
    ...application.getGlobalPipes(),
    ...application.getGlobalRequestPipes(),
    ...application.getGlobalFilters(),
    ...application.getGlobalRequestFilters(),
  ].some((each) => ![OAuthGuard, ScopesGuard, RethrowFilter].some((own) => each instanceof own));
}

/** The only instance of the class of a method; null if there is none, or one for each request. */
function providerOf({ class: type }: ResolverMethod, wrappers: readonly Wrapper[]): Provider | null {
  const wrapper = wrappers.find(({ token, metatype }) => token === type || metatype === type);
  if (wrapper?.isDependencyTreeStatic() !== true || wrapper.isTransient) return null;
  return wrapper.instance as Provider;
}

function has(keys: readonly string[], { class: type, name }: ResolverMethod): boolean {
  const method = (type.prototype as Provider)[name];
  return [method, type].some(
    (target) =>
      target !== undefined &&
      keys.some((key) => ((Reflect.getMetadata(key, target) ?? []) as readonly unknown[]).length > 0),
  );
}

/** Nest stores the parameters of a method by «type:index». */
interface Parameter {
  readonly index: number;
  readonly data?: unknown;
  readonly pipes?: readonly unknown[];
}

/** Where graphql-js gives what a parameter of Nest's own takes. */
const POSITIONS: Readonly<Record<string, 0 | 1 | 2 | 3>> = {
  [GqlParamtype.ROOT]: 0,
  [GqlParamtype.ARGS]: 1,
  [GqlParamtype.CONTEXT]: 2,
  [GqlParamtype.INFO]: 3,
};

/**
 * Calls a method with what its parameters name. A method without decorated parameters gets those of graphql-js, as in Nest. Null if
 * only Nest can provide a parameter.
 */
function callerOf(provider: Provider, { class: type, name }: ResolverMethod): Call | null {
  const method = provider[name];
  if (method === undefined) return null;
  const declared = Object.entries(
    (Reflect.getMetadata(PARAM_ARGS_METADATA, type, name) ?? {}) as Record<string, Parameter>,
  );
  if (declared.length === 0) return method.bind(provider);
  const parameters: { readonly at: 0 | 1 | 2 | 3; readonly member: string | undefined }[] = [];
  for (const [key, { index, data, pipes = [] }] of declared) {
    const at = POSITIONS[key.split(':')[0] ?? ''];
    if (at === undefined || pipes.length > 0) return null;
    parameters[index] = { at, member: data as string | undefined };
  }
  // Members of classes can have other names in the schema.
  const rename = createArgsMapper(type, name) ?? ((args: unknown) => args);
  return (parent, args, context, info) => {
    const given: readonly unknown[] = [parent, rename(args), context, info];
    const values = parameters.map(({ at, member }) =>
      member === undefined ? given[at] : (given[at] as Record<string, unknown> | undefined)?.[member],
    );
    return method.apply(provider, values);
  };
}

function behindEnhancers(provider: Provider, { name }: ResolverMethod, { contexts }: NestResolvers) {
  const enhancers = { guards: true, interceptors: true, filters: true };
  const method = provider[name] as Method;
  const none = undefined;
  return contexts.create(provider, method, name, none, none, none, none, enhancers, 'graphql');
}
