import { MapperKind, mapSchema } from '@graphql-tools/utils';
import {
  EXCEPTION_FILTERS_METADATA,
  GUARDS_METADATA,
  INTERCEPTORS_METADATA,
  PIPES_METADATA,
} from '@nestjs/common/constants.js';
import type { ApplicationConfig, DiscoveryService, ExternalContextCreator } from '@nestjs/core';
import type { ParamMetadata } from '@nestjs/core/helpers/interfaces/params-metadata.interface.js';
import { FIELD_RESOLVER_MIDDLEWARE_METADATA, PARAM_ARGS_METADATA } from '@nestjs/graphql';
import { GqlParamtype } from '@nestjs/graphql/dist/enums/gql-paramtype.enum.js';
import { createArgsMapper } from '@nestjs/graphql/dist/utils/map-args-to-props.util.js';
import type { GraphQLFieldConfig, GraphQLFieldResolver, GraphQLSchema } from 'graphql';
import type { ResolverMethod } from '../../auth/access.js';
import { OAuthGuard } from '../../auth/oauth.guard.js';
import { ScopesGuard } from '../../auth/scopes.guard.js';
import { RethrowFilter } from '../../http/rejection.js';
import { uncached } from '../cache/response-cache.js';

type Field = GraphQLFieldConfig<unknown, unknown>;
type Method = (...given: readonly unknown[]) => unknown;
type Provider = Record<string, Method>;

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
 * called directly, because the promises of the pipeline cost as much as a small response (docs/adr/0036). Fields behind the pipeline
 * are not cached: a cached response would skip what runs around the method.
 */
export function connectResolvers(
  schema: GraphQLSchema,
  application: ApplicationConfig,
  contexts: ExternalContextCreator,
  discovery: DiscoveryService,
): GraphQLSchema {
  const isEnhanced = hasForeignGlobals(application);
  const wrappers = discovery.getProviders();
  return mapSchema(schema, {
    [MapperKind.OBJECT_FIELD]: (field: Field) => {
      const method = field.extensions?.['resolver'] as ResolverMethod | undefined;
      if (method === undefined) return field;
      const { class: type, name } = method;
      const wrapper = wrappers.find(({ token, metatype }) => token === type || metatype === type);
      // Nest finds the instance itself if there is one for each request.
      const isSingle = wrapper?.isDependencyTreeStatic() === true && !wrapper.isTransient;
      const provider = isSingle ? (wrapper.instance as Provider) : null;
      if (!isEnhanced && !hasEnhancers(method)) {
        const resolve = provider && callerOf(provider, method);
        return resolve === null ? uncached(field) : { ...field, resolve };
      }
      // Nest has made no resolver for a derived field.
      if (field.resolve !== undefined || provider === null) return uncached(field);
      const enhancers = { guards: true, interceptors: true, filters: true };
      const none = undefined;
      const call = provider[name] as Method;
      const resolve = contexts.create(provider, call, name, none, none, none, none, enhancers, 'graphql');
      return { ...uncached(field), resolve };
    },
  });
}

/** Whether there are global enhancers beside those of this service. */
function hasForeignGlobals(application: ApplicationConfig): boolean {
  return (['Guards', 'Interceptors', 'Pipes', 'Filters'] as const)
    .flatMap((kind): object[] => [
      ...application[`getGlobal${kind}`](),
      ...application[`getGlobalRequest${kind}`](),
    ])
    .some((each) => ![OAuthGuard, ScopesGuard, RethrowFilter].some((own) => each instanceof own));
}

/** Whether Nest runs something around a method, of its own or of its class. */
function hasEnhancers({ class: type, name }: ResolverMethod): boolean {
  return [(type.prototype as Provider)[name], type].some(
    (target) =>
      target !== undefined &&
      ENHANCERS.some((key) => ((Reflect.getMetadata(key, target) ?? []) as readonly unknown[]).length > 0),
  );
}

/**
 * Calls a method with what its parameters name. A method without decorated parameters gets those of graphql-js, as in Nest. Null if
 * only Nest can provide a parameter.
 */
function callerOf(
  provider: Provider,
  { class: type, name }: ResolverMethod,
): GraphQLFieldResolver<unknown, unknown> | null {
  const method = provider[name];
  if (method === undefined) return null;
  const metadata: unknown = Reflect.getMetadata(PARAM_ARGS_METADATA, type, name) ?? {};
  const declared = Object.entries(metadata as Record<string, ParamMetadata & { pipes?: unknown[] }>);
  if (declared.length === 0) return method.bind(provider);
  const parameters: { readonly type: number; readonly member: string | undefined }[] = [];
  for (const [key, { index, data, pipes = [] }] of declared) {
    const type = Number(key.split(':')[0]);
    if (!(type in GqlParamtype) || pipes.length > 0) return null;
    parameters[index] = { type, member: data as string | undefined };
  }
  // Members of classes can have other names in the schema.
  const rename = createArgsMapper(type, name) ?? ((args: unknown) => args);
  return (parent, args, context, info) => {
    // In the order of GqlParamtype.
    const given: readonly unknown[] = [parent, context, info, rename(args)];
    const values = parameters.map(({ type, member }) =>
      member === undefined ? given[type] : (given[type] as Record<string, unknown> | undefined)?.[member],
    );
    return method.apply(provider, values);
  };
}
