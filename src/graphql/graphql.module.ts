import {
  ApolloServerPluginCacheControlDisabled,
  ApolloServerPluginInlineTraceDisabled,
} from '@apollo/server/plugin/disabled';
import type { ApolloDriver, ApolloDriverConfig } from '@nestjs/apollo';
import { Inject, Module, type OnModuleInit } from '@nestjs/common';
import {
  DiscoveryModule,
  ApplicationConfig,
  DiscoveryService,
  ExternalContextCreator,
  HttpAdapterHost,
  ModuleRef,
} from '@nestjs/core';
import type { FastifyInstance } from 'fastify';
import { GraphQLModule as NestGraphQLModule, GraphQLSchemaHost } from '@nestjs/graphql';
import type { Config } from '../config/config.js';
import { CONFIG } from '../config/config.module.js';
import { ResponseCache } from './cache/response-cache.js';
import { boundedStores, TrustedDocuments, validationRulesOf } from './http/documents.js';
import { Compiler, Executor } from './execution/operations.js';
import { Operations } from './execution/operation-plugin.js';
import { GRAPHQL_PATH } from './http/request-context.js';
import { RateLimitResolver } from './rate-limit/rate-limit.resolver.js';
import { RateLimiter } from './rate-limit/rate-limiter.js';
import { connectResolvers } from './schema/resolver-methods.js';
import { extendSchema, finishSchema } from './schema/schema.js';
import { Endpoint, EndpointDriver } from './http/endpoint.js';
import { HttpAdapter } from '../http/http-adapter.js';

/** The GraphQL endpoint: the schema that Nest builds, and the steps of a request before and in Apollo. */
@Module({
  imports: [
    NestGraphQLModule.forRootAsync<ApolloDriverConfig>({
      driver: EndpointDriver,
      imports: [DiscoveryModule],
      inject: [CONFIG, ApplicationConfig, ExternalContextCreator, DiscoveryService],
      useFactory: (
        config: Config,
        application: ApplicationConfig,
        contexts: ExternalContextCreator,
        discovery: DiscoveryService,
      ): Omit<ApolloDriverConfig, 'driver'> => ({
        path: GRAPHQL_PATH,
        autoSchemaFile: true,
        sortSchema: true,
        transformSchema: (schema) =>
          finishSchema(connectResolvers(extendSchema(schema, config), application, contexts, discovery)),
        fieldResolverEnhancers: ['guards', 'interceptors', 'filters'],
        validationRules: validationRulesOf(config),
        validationOptions: { hideSuggestions: !config.disclosure.introspection },
        parseOptions: { maxLexicalTokens: config.limits.tokens },
        plugins: [ApolloServerPluginCacheControlDisabled(), ApolloServerPluginInlineTraceDisabled()],
        ...boundedStores(),
        introspection: true,
        graphiql: false,
        includeStacktraceInErrorResponses: false,
        preserveHttpStatusForExecutionErrors: false,
        // Stops after the connections have closed, so that earlier requests are answered.
        stopOnApplicationShutdown: true,
        autoTransformHttpErrors: false,
      }),
    }),
  ],
  providers: [
    ResponseCache,
    Compiler,
    Executor,
    Operations,
    TrustedDocuments,
    RateLimiter,
    RateLimitResolver,
    Endpoint,
  ],
  exports: [ResponseCache, NestGraphQLModule, RateLimiter],
})
export class GraphQLModule implements OnModuleInit {
  constructor(
    private readonly host: HttpAdapterHost,
    private readonly endpoint: Endpoint,
    private readonly schemas: GraphQLSchemaHost,
    private readonly trusted: TrustedDocuments,
    private readonly modules: ModuleRef,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /** Registers the steps of the endpoint, after the hooks of all paths. Throws ConfigError for documents that are not valid. */
  onModuleInit(): void {
    const adapter = this.host.httpAdapter as unknown;
    // Commands run without HTTP.
    if (!(adapter instanceof HttpAdapter)) return;
    const { graphQlAdapter } = this.modules.get(NestGraphQLModule<ApolloDriver>, { strict: false });
    const { bypass } = this.config.directory.visibility;
    this.endpoint.register(adapter.getInstance<FastifyInstance>(), graphQlAdapter.instance, bypass);
    this.trusted.check(this.schemas.schema);
  }
}
