import { ApolloDriver, type ApolloDriverConfig } from '@nestjs/apollo';
import { Module } from '@nestjs/common';
import { DiscoveryModule, DiscoveryService, ExternalContextCreator, ModuleRef } from '@nestjs/core';
import { GraphQLModule as NestGraphQLModule } from '@nestjs/graphql';
import type { FastifyRequest } from 'fastify';
import { NoSchemaIntrospectionCustomRule } from 'graphql';
import type { Config } from '../config/config.js';
import { CONFIG } from '../config/config.module.js';
import { Database } from '../database/database.js';
import { OperationValidator } from './analysis/operation-validator.js';
import { ResponseCache } from './cache/response-cache.js';
import { ConnectionArgumentsRule } from './analysis/connection-arguments.rule.js';
import { Compiler } from './execution/compiler.js';
import { OperationPolicy } from './analysis/operation-policy.js';
import { Documents } from './analysis/documents.js';
import { GraphQLEndpoint } from './http/graphql-endpoint.js';
import { formatError, withoutSuggestion } from './errors/error-response.js';
import { ExecutionPlugin } from './execution/execution.plugin.js';
import { Executor } from './execution/executor.js';
import { SingleFlight } from './cache/single-flight.js';
import { RateLimitResolver } from './rate-limit/rate-limit.resolver.js';
import { RateLimiter } from './rate-limit/rate-limiter.js';
import { KnownDocuments } from './analysis/known-documents.js';
import { LoadShedder } from './rate-limit/load-shedder.js';
import { Operations } from './execution/operations.js';
import { GRAPHQL_PATH } from './errors/rejection.js';
import { RequestContext } from './http/request-context.js';
import { connectResolvers } from './schema/resolver-methods.js';
import { addDerivedFields } from './schema/derived-fields.js';
import { finishSchema } from './schema/schema.js';
import { ShortWay } from './http/fast-path.js';

/** The GraphQL endpoint: Apollo behind Nest, with what must be decided about an operation decided around it. */
@Module({
  imports: [
    NestGraphQLModule.forRootAsync<ApolloDriverConfig>({
      driver: ApolloDriver,
      imports: [DiscoveryModule],
      inject: [CONFIG, Database, ModuleRef, ExternalContextCreator, DiscoveryService],
      useFactory: (
        config: Config,
        database: Database,
        providers: ModuleRef,
        contexts: ExternalContextCreator,
        discovery: DiscoveryService,
      ): Omit<ApolloDriverConfig, 'driver'> => ({
        path: GRAPHQL_PATH,
        autoSchemaFile: true,
        sortSchema: true,
        transformSchema: (schema) =>
          finishSchema(
            connectResolvers(addDerivedFields(schema, config), { providers, contexts, discovery }),
          ),
        fieldResolverEnhancers: ['guards'],
        context: (request: FastifyRequest) => new RequestContext(request, request.principal, database),
        formatError: (formatted, error) => {
          const shown = formatError(formatted, error, '');
          return config.disclosure.suggestions ? shown : withoutSuggestion(shown);
        },
        validationRules: [
          ConnectionArgumentsRule,
          ...(config.disclosure.introspection ? [] : [NoSchemaIntrospectionCustomRule]),
        ],
        parseOptions: { maxTokens: config.limits.tokens },
        // No cookies are ever read, so a page of another site can send nothing that a caller is known by; the
        // remaining way, remembered Basic credentials, is closed by the authenticator.
        csrfPrevention: false,
        persistedQueries: false,
        // Documents that are known do not come this far.
        documentStore: null,
        introspection: true,
        graphiql: false,
        includeStacktraceInErrorResponses: false,
        // Without the line feed of Apollo's own, which copies the answer.
        stringifyResult: (result) => JSON.stringify(result),
        preserveHttpStatusForExecutionErrors: false,
        // After the connections have been closed: what comes until then is answered.
        stopOnApplicationShutdown: true,
        autoTransformHttpErrors: false,
      }),
    }),
  ],
  providers: [
    OperationValidator,
    ResponseCache,
    Compiler,
    OperationPolicy,
    Documents,
    ExecutionPlugin,
    Executor,
    SingleFlight,
    GraphQLEndpoint,
    KnownDocuments,
    LoadShedder,
    Operations,
    RateLimiter,
    RateLimitResolver,
    ShortWay,
  ],
  exports: [
    ResponseCache,
    Documents,
    LoadShedder,
    // For those who want the schema itself.
    NestGraphQLModule,
    RateLimiter,
  ],
})
export class GraphQLModule {}
