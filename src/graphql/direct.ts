import { MapperKind, mapSchema } from '@graphql-tools/utils';
import type { Type } from '@nestjs/common';
import type { ModuleRef } from '@nestjs/core';
import { Extensions } from '@nestjs/graphql';
import type { GraphQLSchema } from 'graphql';

/** A provider whose methods resolve fields by the object and the arguments alone. */
type Provider = Record<string, (parent: unknown, given: unknown) => unknown>;

interface DirectMethod {
  readonly provider: Type<Provider>;
  readonly method: string;
}

/**
 * Declares that a field's resolver is called as it is. Nest wraps resolvers into a pipeline that answers with a promise,
 * which for a field of everybody on a page is most of what the page costs. The method takes `@Parent()` and `@Args()`,
 * in this order, and nothing else.
 */
export function Direct(): MethodDecorator {
  return (target, method, descriptor) => {
    Extensions({ direct: { provider: target.constructor, method } })(target, method, descriptor);
  };
}

/** The schema with the resolvers that are declared so. */
export function resolveDirectly(schema: GraphQLSchema, providers: Pick<ModuleRef, 'get'>): GraphQLSchema {
  return mapSchema(schema, {
    [MapperKind.OBJECT_FIELD]: (field) => {
      const direct = field.extensions?.['direct'] as DirectMethod | undefined;
      if (direct === undefined) return field;
      const provider = providers.get<Provider>(direct.provider, { strict: false });
      return { ...field, resolve: (parent, given: unknown) => provider[direct.method]?.(parent, given) };
    },
  });
}
