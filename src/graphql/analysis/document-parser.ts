import { viewerOf } from '../../auth/access.js';
import {
  type ApolloServer,
  type ApolloServerPlugin,
  type GraphQLRequestListener,
  HeaderMap,
} from '@apollo/server';
import { Inject, Injectable } from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';
import { GraphQLModule as NestGraphQLModule } from '@nestjs/graphql';
import { type ApolloDriver, Plugin } from '@nestjs/apollo';
import {
  type DocumentNode,
  getOperationAST,
  type OperationDefinitionNode,
  OperationTypeNode,
  type GraphQLSchema,
} from 'graphql';
import { ServiceError } from '../../common/errors.js';
import type { Config } from '../../config/config.js';
import { CONFIG } from '../../config/config.module.js';
import { Database } from '../../database/database.js';
import { PersistedDocuments } from '../http/persisted-documents.js';
import { RejectionError } from '../../http/rejection.js';
import type { PipelineRequest, RequestParameters, PipelineResponse } from '../http/pipeline-request.js';
import { RequestContext } from '../http/request-context.js';
import { LRUCache } from 'lru-cache';
import type { CacheStatistics } from '../../common/cache-statistics.js';

export interface ValidDocument {
  readonly document: DocumentNode;
  readonly schema: GraphQLSchema;
}

/** Measured memory of a parsed document, in bytes per character. */
const BYTES_PER_CHARACTER = 100;
/** Maximum bytes of documents that were sent more than once, and of those that were sent once. */
const FREQUENT = 30_000_000;
const RECENT = 10_000_000;

/** Valid documents by text. One that is sent again moves to a cache from which new ones cannot evict it. */
@Injectable()
export class Documents {
  private readonly frequent = cacheOf(FREQUENT);
  private readonly recent = cacheOf(RECENT);
  private hits = 0;
  private misses = 0;

  find(text: string): ValidDocument | null {
    const known = this.frequent.get(text) ?? this.findRecent(text);
    if (known === null) this.misses++;
    else this.hits++;
    return known;
  }

  keep(text: string, document: ValidDocument): void {
    this.recent.set(text, document);
  }

  get statistics(): CacheStatistics {
    const { hits, misses, frequent, recent } = this;
    const bytes = frequent.calculatedSize + recent.calculatedSize;
    return { hits, misses, entries: frequent.size + recent.size, bytes };
  }

  /** Moves a recent document that is sent again to the frequent ones. */
  private findRecent(text: string): ValidDocument | null {
    const recent = this.recent.get(text);
    if (recent === undefined) return null;
    this.recent.delete(text);
    this.frequent.set(text, recent);
    return recent;
  }
}

function cacheOf(maxSize: number): LRUCache<string, ValidDocument> {
  return new LRUCache({
    maxSize,
    sizeCalculation: (_document, text) => BYTES_PER_CHARACTER * Math.max(1, text.length),
  });
}

/** The context in which Apollo stores a document. Apollo copies it, but not the object in it. */
interface ParseContext {
  readonly found: {
    /** Null if the text could not be parsed. */
    document: DocumentNode | null;
    valid: ValidDocument | null;
  };
}

/** The step that parses and validates documents, by Apollo once for each document (docs/adr/0030). */
@Injectable()
export class DocumentParser {
  private apollo: ApolloServer<ParseContext> | null = null;

  constructor(
    private readonly documents: Documents,
    private readonly database: Database,
    private readonly modules: ModuleRef,
    @Inject(CONFIG) private readonly config: Config,
    private readonly persisted: PersistedDocuments,
  ) {}

  /** Finds the document, if the request names it, or if not all are trusted. */
  resolve(request: PipelineRequest): void | Promise<void> {
    if (request.parameters?.reference !== null || this.persisted.isRestricted)
      return this.persisted.resolve(request);
  }

  /** Registers the document, if the request has named it. */
  register(request: PipelineRequest): void | Promise<void> {
    if (request.registers !== null) return this.persisted.register(request);
  }

  parse(request: PipelineRequest): undefined | Promise<PipelineResponse | undefined> {
    const { parameters } = request;
    if (parameters === null) throw new Error('Earlier steps are missing');
    const known = this.documents.find(parameters.query);
    if (known === null) return this.parseByApollo(parameters, request);
    this.prepare(known, parameters, request);
    return undefined;
  }

  /** The messages of the errors of a document. */
  async findErrors(text: string): Promise<string[]> {
    const { errors } = await this.validate(text);
    return errors.map(({ message }) => message);
  }

  /** Selects the operation and creates the context of its execution. */
  private prepare(
    valid: ValidDocument,
    { operationName, variables }: RequestParameters,
    request: PipelineRequest,
  ): void {
    const definition = getOperationAST(valid.document, operationName);
    if (!definition) {
      const message = 'The operation to run is not clear: name one of the document in operationName';
      throw new ServiceError('OPERATION_RESOLUTION_FAILURE', message, { argument: 'operationName' });
    }
    checkMethod(definition, request);
    const parsed = { ...valid, definition, variables: variables ?? {} };
    const viewer = viewerOf(request.principal, this.config.directory.visibility.bypass);
    request.context = new RequestContext(request, parsed, this.database, viewer);
  }

  private async parseByApollo(
    parameters: RequestParameters,
    request: PipelineRequest,
  ): Promise<PipelineResponse | undefined> {
    const { document, valid, errors, status } = await this.validate(parameters.query);
    if (valid !== null) {
      this.prepare(valid, parameters, request);
      return undefined;
    }
    checkMethod(document === null ? null : getOperationAST(document, parameters.operationName), request);
    const shown = errors.map((error) => ({
      ...error,
      extensions: { ...error.extensions, requestId: request.id },
    }));
    return {
      status,
      type: request.responseType ?? '',
      headers: { 'cache-control': 'no-store' },
      body: JSON.stringify({ errors: shown }),
    };
  }

  private async validate(query: string) {
    this.apollo ??= this.findApollo();
    const contextValue: ParseContext = { found: { document: null, valid: null } };
    const { http, body } = await this.apollo.executeOperation({ query }, { contextValue });
    const { errors = [] } = body.kind === 'single' ? body.singleResult : {};
    return { ...contextValue.found, errors, status: http.status ?? 400 };
  }

  private findApollo(): ApolloServer<ParseContext> {
    const { graphQlAdapter } = this.modules.get(NestGraphQLModule, { strict: false });
    return (graphQlAdapter as ApolloDriver).instance as unknown as ApolloServer<ParseContext>;
  }
}

/** A GET or HEAD must not change anything, even if its document is invalid. */
function checkMethod(
  definition: OperationDefinitionNode | null | undefined,
  { method }: PipelineRequest,
): void {
  if (!definition || method === 'POST' || definition.operation === OperationTypeNode.QUERY) return;
  const message = `A ${definition.operation} is sent by POST`;
  throw new RejectionError(405, 'METHOD_NOT_ALLOWED', message, { allow: 'POST' });
}

/** Caches the documents that Apollo has validated, and makes Apollo skip the execution. */
@Plugin()
export class DocumentPlugin implements ApolloServerPlugin<ParseContext> {
  constructor(private readonly documents: Documents) {}

  requestDidStart(): Promise<GraphQLRequestListener<ParseContext>> {
    return Promise.resolve({
      didResolveOperation: ({ source, document, schema, contextValue }) => {
        contextValue.found.valid = { document, schema };
        this.documents.keep(source, contextValue.found.valid);
        return Promise.resolve();
      },
      willSendResponse: ({ document, contextValue }) => {
        contextValue.found.document = document ?? null;
        return Promise.resolve();
      },
      responseForOperation: () =>
        Promise.resolve({ http: { headers: new HeaderMap() }, body: { kind: 'single', singleResult: {} } }),
    });
  }
}
