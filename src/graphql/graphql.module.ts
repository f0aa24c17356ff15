import { ApolloServerPluginCacheControlDisabled } from '@apollo/server/plugin/disabled';
import { ApolloDriver, type ApolloDriverConfig } from '@nestjs/apollo';
import { Inject, Module, type OnModuleInit } from '@nestjs/common';
import {
  DiscoveryModule,
  ApplicationConfig,
  DiscoveryService,
  ExternalContextCreator,
  HttpAdapterHost,
} from '@nestjs/core';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { GraphQLModule as NestGraphQLModule, GraphQLSchemaHost } from '@nestjs/graphql';
import type { Config } from '../config/config.js';
import { CONFIG } from '../config/config.module.js';
import { OperationValidator } from './analysis/operation-validator.js';
import { ResponseCache } from './cache/response-cache.js';
import { findDocumentErrors, parseOptionsOf, validationRulesOf } from './analysis/document-rules.js';
import { Compiler, Executor, PreviewShares } from './execution/operations.js';
import { Responses, writeResult } from './execution/responses.js';
import { Documents } from './analysis/documents.js';
import { bounded } from '../common/errors.js';
import { formatError, withoutSuggestion } from './errors/error-response.js';
import { GRAPHQL_PATH } from './http/request-state.js';
import { DocumentStore, PersistedDocuments, TrustedDocuments } from './http/persisted-documents.js';
import { RequestContext } from './http/request-context.js';
import { viewerOf } from '../auth/access.js';
import { Database } from '../database/database.js';
import { RateLimitResolver } from './rate-limit/rate-limit.resolver.js';
import { RateLimiter } from './rate-limit/rate-limiter.js';
import { LoadShedder, OperationAdmission } from './http/load-shedder.js';
import { connectResolvers } from './schema/resolver-methods.js';
import { extendSchema, finishSchema } from './schema/schema.js';
import { Endpoint } from './http/endpoint.js';
import { HttpAdapter } from '../http/http-adapter.js';

/** Apollo's store of documents, which the options of Apollo need. */
@Module({ providers: [Documents], exports: [Documents] })
class DocumentsModule {}

/** The GraphQL endpoint: the schema that Nest builds, and the steps of a request before and in Apollo. */
@Module({
  imports: [
    DocumentsModule,
    NestGraphQLModule.forRootAsync<ApolloDriverConfig>({
      driver: ApolloDriver,
      imports: [DiscoveryModule, DocumentsModule],
      inject: [CONFIG, ApplicationConfig, ExternalContextCreator, DiscoveryService, Documents, Database],
      useFactory: (
        config: Config,
        application: ApplicationConfig,
        contexts: ExternalContextCreator,
        discovery: DiscoveryService,
        documents: Documents,
        database: Database,
      ): Omit<ApolloDriverConfig, 'driver'> => ({
        path: GRAPHQL_PATH,
        autoSchemaFile: true,
        sortSchema: true,
        transformSchema: (schema) =>
          finishSchema(connectResolvers(extendSchema(schema, config), { application, contexts, discovery })),
        fieldResolverEnhancers: ['guards', 'interceptors', 'filters'],
        formatError: (formatted, error) => {
          const shown = formatError(formatted, error, '');
          const { message, ...rest } = config.disclosure.introspection ? shown : withoutSuggestion(shown);
          return { message: bounded(message), ...rest };
        },
        validationRules: validationRulesOf(config),
        parseOptions: parseOptionsOf(config),
        context: (request: FastifyRequest) =>
          new RequestContext(
            request,
            database,
            viewerOf(request.principal, config.directory.visibility.bypass),
          ),
        stringifyResult: writeResult,
        documentStore: documents,
        plugins: [ApolloServerPluginCacheControlDisabled()],
        // The hooks of Endpoint find the documents that requests name. No cookies are read, and the guard rejects Basic
        // credentials of other sites.
        csrfPrevention: false,
        persistedQueries: false,
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
    OperationValidator,
    ResponseCache,
    Compiler,
    DocumentStore,
    PersistedDocuments,
    TrustedDocuments,
    Executor,
    PreviewShares,
    LoadShedder,
    Responses,
    RateLimiter,
    RateLimitResolver,
    OperationAdmission,
    Endpoint,
  ],
  exports: [ResponseCache, DocumentsModule, LoadShedder, NestGraphQLModule, RateLimiter],
})
export class GraphQLModule implements OnModuleInit {
  constructor(
    private readonly host: HttpAdapterHost,
    private readonly endpoint: Endpoint,
    private readonly schemas: GraphQLSchemaHost,
    @Inject(CONFIG) private readonly config: Config,
    private readonly trusted: TrustedDocuments,
  ) {}

  /** Registers the steps of the endpoint, after the hooks of all paths. Throws ConfigError for documents that are not valid. */
  async onModuleInit(): Promise<void> {
    const adapter = this.host.httpAdapter as unknown;
    // Commands run without HTTP.
    if (!(adapter instanceof HttpAdapter)) return;
    this.endpoint.register(adapter.getInstance<FastifyInstance>());
    await this.trusted.check((text) => findDocumentErrors(this.schemas.schema, text, this.config));
  }
}
