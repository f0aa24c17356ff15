import type { DynamicModule, Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { GraphQLSchemaBuilderModule, GraphQLSchemaFactory } from '@nestjs/graphql';
import { type GraphQLSchema, lexicographicSortSchema } from 'graphql';
import { AppModule } from './app.module.js';
import { readConfig } from './config/config.js';
import { finishSchema, printSdl } from './graphql/schema/schema.js';

/** Metadata keys under which Nest keeps what `@Module` and `@Resolver` say. */
const IMPORTS = 'imports';
const PROVIDERS = 'providers';
const RESOLVER = 'graphql:resolver_type';

/** The schema as text (SDL); throws as `buildServedSchema` does. */
export async function buildSdl(): Promise<string> {
  return printSdl(await buildServedSchema());
}

/**
 * The schema, in the order of its text, built from the classes alone: nothing is opened, so that it can be had anywhere.
 * @throws Error when a field does not declare what it takes to select it
 */
export async function buildServedSchema(): Promise<GraphQLSchema> {
  const app = await NestFactory.createApplicationContext(GraphQLSchemaBuilderModule, { logger: ['error'] });
  try {
    const factory = app.get(GraphQLSchemaFactory);
    const schema = await factory.create([...findResolvers(AppModule.forRoot(readConfig({})))]);
    return lexicographicSortSchema(finishSchema(schema));
  } finally {
    await app.close();
  }
}

/** The resolvers of a module and of all that it imports. */
function findResolvers(module: Type | DynamicModule, seen = new Set<unknown>()): Set<Type> {
  const resolvers = new Set<Type>();
  if (seen.has(module)) return resolvers;
  seen.add(module);
  const type = 'module' in module ? module.module : module;
  const listed = (key: string) => (Reflect.getMetadata(key, type) ?? []) as unknown[];
  const dynamic: Partial<DynamicModule> = 'module' in module ? module : {};
  for (const provider of [...listed(PROVIDERS), ...(dynamic.providers ?? [])]) {
    if (typeof provider === 'function' && Reflect.hasMetadata(RESOLVER, provider))
      resolvers.add(provider as Type);
  }
  for (const imported of [...listed(IMPORTS), ...(dynamic.imports ?? [])]) {
    for (const resolver of findResolvers(imported as Type | DynamicModule, seen)) resolvers.add(resolver);
  }
  return resolvers;
}
