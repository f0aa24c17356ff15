import { MapperKind, mapSchema } from '@graphql-tools/utils';
import type { Type } from '@nestjs/common';
import type { ModuleRef } from '@nestjs/core';
import { Extensions } from '@nestjs/graphql';
import type { GraphQLFieldConfig, GraphQLFieldResolver, GraphQLSchema } from 'graphql';

type Provider = Record<string, GraphQLFieldResolver<unknown, unknown> | undefined>;
type Field = GraphQLFieldConfig<unknown, unknown>;

interface DirectMethod {
  readonly provider: Type<Provider>;
  readonly method: string;
}

/**
 * Declares that a field's resolver is called as it is. Nest wraps resolvers into a pipeline of promises, which costs as
 * much as a small answer does, and for a field of everybody on a page most of what the page costs. The method takes what
 * resolvers take, in their order: `@Parent()`, `@Args()`, `@Context()`, `@Info()`, or the first of these.
 */
export function Direct(): MethodDecorator {
  return (target, method, descriptor) => {
    Extensions({ direct: { provider: target.constructor, method } })(target, method, descriptor);
  };
}

/** The schema with the resolvers that are declared so. */
export function resolveDirectly(schema: GraphQLSchema, providers: Pick<ModuleRef, 'get'>): GraphQLSchema {
  const resolveField = (field: Field): Field => {
    const direct = field.extensions?.['direct'] as DirectMethod | undefined;
    if (direct === undefined) return field;
    const provider = providers.get<Provider>(direct.provider, { strict: false });
    const resolve = provider[direct.method]?.bind(provider);
    return resolve === undefined ? field : { ...field, resolve };
  };
  return mapSchema(schema, { [MapperKind.OBJECT_FIELD]: resolveField });
}
