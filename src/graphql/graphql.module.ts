import { ApolloDriver, type ApolloDriverConfig } from '@nestjs/apollo';
import { Module, type OnModuleInit } from '@nestjs/common';
import {
  DiscoveryModule,
  ApplicationConfig,
  DiscoveryService,
  ExternalContextCreator,
  HttpAdapterHost,
} from '@nestjs/core';
import type { FastifyInstance } from 'fastify';
import { GraphQLModule as NestGraphQLModule } from '@nestjs/graphql';
import type { Config } from '../config/config.js';
import { CONFIG } from '../config/config.module.js';
import { OperationValidator } from './analysis/operation-validator.js';
import { ResponseCache } from './cache/response-cache.js';
import { parseOptionsOf, validationRulesOf } from './analysis/document-rules.js';
import { Compiler, Executor, PreviewShares } from './execution/operations.js';
import { ConditionalResponses, Responses } from './execution/responses.js';
import { Documents, DocumentParser, DocumentPlugin } from './analysis/document-parser.js';
import { bounded } from '../common/errors.js';
import { formatError, withoutSuggestion } from './errors/error-response.js';
import { GRAPHQL_PATH } from './http/pipeline-request.js';
import { DocumentStore, PersistedDocuments, TrustedDocuments } from './http/persisted-documents.js';
import { RateLimitResolver } from './rate-limit/rate-limit.resolver.js';
import { RateLimiter } from './rate-limit/rate-limiter.js';
import { LoadShedder, RequestAdmission } from './http/request-admission.js';
import { connectResolvers } from './schema/resolver-methods.js';
import { extendSchema, finishSchema } from './schema/schema.js';
import { RequestPipeline } from './http/request-pipeline.js';
import { HttpAdapter } from '../http/http-adapter.js';

/** The GraphQL endpoint: its pipeline, and the schema that Nest builds. Apollo validates documents. */
@Module({
  imports: [
    NestGraphQLModule.forRootAsync<ApolloDriverConfig>({
      driver: ApolloDriver,
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
          finishSchema(connectResolvers(extendSchema(schema, config), { application, contexts, discovery })),
        fieldResolverEnhancers: ['guards', 'interceptors', 'filters'],
        formatError: (formatted, error) => {
          const shown = formatError(formatted, error, '');
          const { message, ...rest } = config.disclosure.suggestions ? shown : withoutSuggestion(shown);
          return { message: bounded(message), ...rest };
        },
        validationRules: validationRulesOf(config),
        parseOptions: parseOptionsOf(config),
        // The pipeline answers all requests, so Apollo never handles HTTP. No cookies are read, and the guard
        // rejects Basic credentials of other sites.
        csrfPrevention: false,
        persistedQueries: false,
        documentStore: null,
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
    ConditionalResponses,
    Compiler,
    Documents,
    DocumentParser,
    DocumentPlugin,
    DocumentStore,
    PersistedDocuments,
    TrustedDocuments,
    Executor,
    PreviewShares,
    LoadShedder,
    Responses,
    RateLimiter,
    RateLimitResolver,
    RequestAdmission,
    RequestPipeline,
  ],
  exports: [ResponseCache, Documents, LoadShedder, NestGraphQLModule, RateLimiter],
})
export class GraphQLModule implements OnModuleInit {
  constructor(
    private readonly host: HttpAdapterHost,
    private readonly pipeline: RequestPipeline,
    private readonly documents: DocumentParser,
    private readonly trusted: TrustedDocuments,
  ) {}

  /** Registers the steps of the endpoint, after the hooks of all paths. Throws ConfigError for documents that are not valid. */
  async onModuleInit(): Promise<void> {
    const adapter = this.host.httpAdapter as unknown;
    // Commands run without HTTP.
    if (!(adapter instanceof HttpAdapter)) return;
    this.pipeline.register(adapter.getInstance<FastifyInstance>());
    await this.trusted.check((text) => this.documents.findErrors(text));
  }
}
