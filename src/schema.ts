import type { Type } from '@nestjs/common';
import { ModulesContainer, NestFactory } from '@nestjs/core';
import { GraphQLSchemaFactory } from '@nestjs/graphql';
import { type GraphQLSchema, lexicographicSortSchema } from 'graphql';
import { AppModule } from './app.module.js';
import { type Config, type Environment, readConfig } from './config/config.js';
import { extendSchema, finishSchema } from './graphql/schema/schema.js';
import { printSdl } from './graphql/schema/access-directive.js';

/** The metadata key under which Nest keeps what `@Resolver` says. */
const RESOLVER = 'graphql:resolver_type';
/** Any directory other than the sample, so that no model file applies. */
const BUILT_IN_MODEL: Environment = { DIRECTORY_URL: 'file:directory.ldif' };

/** The schema as text (SDL); throws as `buildServedSchema` does. */
export async function buildSdl(config?: Config): Promise<string> {
  return printSdl(await buildServedSchema(config));
}

/**
 * The schema, in the order of its text, built from the classes alone: nothing is opened, so that it can be had anywhere.
 * @param config its model adds fields; default: the built-in model
 * @throws Error when a field does not declare what it takes to select it
 */
export async function buildServedSchema(config: Config = readConfig(BUILT_IN_MODEL)): Promise<GraphQLSchema> {
  // In the preview mode, Nest constructs nothing but what it builds schemas with.
  const options = { preview: true, logger: ['error' as const] };
  const app = await NestFactory.createApplicationContext(AppModule.forRoot(config), options);
  try {
    const modules = [...app.get(ModulesContainer).values()];
    const classes = modules.flatMap(({ providers }) =>
      [...providers.values()].map(({ metatype }) => metatype),
    );
    const isResolver = (each: unknown) => typeof each === 'function' && Reflect.hasMetadata(RESOLVER, each);
    const resolvers = [...new Set(classes)].filter((each) => each !== null && isResolver(each));
    const schema = await app.get(GraphQLSchemaFactory).create(resolvers as Type[]);
    return lexicographicSortSchema(finishSchema(extendSchema(schema, config)));
  } finally {
    await app.close();
  }
}
