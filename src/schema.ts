import type { DynamicModule, Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { GraphQLSchemaBuilderModule, GraphQLSchemaFactory } from '@nestjs/graphql';
import { AppModule } from './app.module.js';
import { type Config, type Environment, readConfig } from './config/config.js';
import { extendSchema, finishSchema, printSdl } from './graphql/schema/schema.js';

/** Metadata keys under which Nest keeps what `@Module` and `@Resolver` say. */
const IMPORTS = 'imports';
const PROVIDERS = 'providers';
const RESOLVER = 'graphql:resolver_type';
/** Any directory other than the sample, so that no model file applies. */
const BUILT_IN_MODEL: Environment = { DIRECTORY_URL: 'file:directory.ldif' };

/**
 * The schema as text (SDL), built from the classes alone: nothing is opened, so that it can be had anywhere.
 * @param config its model adds fields; default: the built-in model
 * @throws Error when a field does not declare what it takes to select it
 */
export async function buildSdl(config: Config = readConfig(BUILT_IN_MODEL)): Promise<string> {
  const app = await NestFactory.createApplicationContext(GraphQLSchemaBuilderModule, { logger: ['error'] });
  const schema = await app.get(GraphQLSchemaFactory).create([...findResolvers(AppModule.forRoot(config))]);
  return printSdl(finishSchema(extendSchema(schema, config)));
}

/** The resolvers of a module and of all that it imports. */
function findResolvers(
  module: Type | DynamicModule,
  seen = new Set<unknown>(),
  resolvers = new Set<Type>(),
): Set<Type> {
  if (seen.has(module)) return resolvers;
  seen.add(module);
  const type = 'module' in module ? module.module : module;
  const listed = (key: string) => (Reflect.getMetadata(key, type) ?? []) as unknown[];
  const dynamic: Partial<DynamicModule> = 'module' in module ? module : {};
  for (const provider of [...listed(PROVIDERS), ...(dynamic.providers ?? [])])
    if (typeof provider === 'function' && Reflect.hasMetadata(RESOLVER, provider))
      resolvers.add(provider as Type);
  for (const imported of [...listed(IMPORTS), ...(dynamic.imports ?? [])])
    findResolvers(imported as Type | DynamicModule, seen, resolvers);
  return resolvers;
}
