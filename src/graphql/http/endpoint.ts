import type { FastifyInstance, FastifyRequest } from 'fastify';
import { ApolloServer, type GraphQLRequest, HeaderMap } from '@apollo/server';
import { ApolloDriver, type ApolloDriverConfig } from '@nestjs/apollo';
import { Injectable } from '@nestjs/common';
import { z } from 'zod';
import { AccessLog } from '../../access-log/access-log.js';
import { OAuthGuard } from '../../auth/oauth.guard.js';
import { ServiceError } from '../../common/errors.js';
import { Database } from '../../database/database.js';
import { headersOfRead, readMaxStaleness } from '../../database/revisions.js';
import { RejectionError } from '../../http/rejection.js';
import { bodyOf } from '../cache/response-cache.js';
import { responseType } from '../errors/error-response.js';
import { RateLimiter, rateLimitHeaders } from '../rate-limit/rate-limiter.js';
import type { Variables } from '../analysis/operation-policy.js';
import { TrustedDocuments } from './documents.js';
import {
  GRAPHQL_PATH,
  isEndpoint,
  RequestContext,
  type RequestParameters,
  RequestState,
} from './request-context.js';

/** RFC 9110 §8.3.1. Without a charset, JSON is UTF-8 (RFC 8259 §8.1), the only accepted charset. */
const JSON_TYPE = /^application\/json\s*(;(?!\s*charset\s*=)[^;]*|;\s*charset="?utf-?8"?\s*)*$/i;

/** Checks the head before the body is read. Throws as in the table of docs/http.md. */
function readHead(request: FastifyRequest): void {
  const { method, raw } = request;
  if (method !== 'GET' && method !== 'HEAD' && method !== 'POST') {
    const message = 'The endpoint accepts GET, HEAD and POST';
    throw new RejectionError(405, 'METHOD_NOT_ALLOWED', message, { allow: 'GET, HEAD, POST' });
  }
  request.maxStaleness = readMaxStaleness(raw.headers);
  const { 'content-type': type = '', 'content-encoding': coding = 'identity' } = raw.headers;
  if (method === 'POST' && (!JSON_TYPE.test(type) || coding.toLowerCase() !== 'identity')) {
    const message =
      'The body must be JSON: Content-Type: application/json, in UTF-8, without Content-Encoding';
    throw new ServiceError('UNSUPPORTED_MEDIA_TYPE', message);
  }
  const mediaType = responseType(raw);
  if (mediaType === undefined) {
    const message =
      'The answer is application/json or application/graphql-response+json: Accept has to allow one';
    throw new ServiceError('NOT_ACCEPTABLE', message);
  }
  request.responseType = mediaType;
}

/** A hash, or the id of a trusted document (GraphQL over HTTP, draft, appendix A). */
const DOCUMENT_ID = z.string().regex(/^[\w.~:-]{1,200}$/, 'a hash, or an id of at most 200 characters');

/** What the members of a request must be (GraphQL over HTTP, draft, §5.4). Others are ignored. */
const PARAMETERS = z.object({
  query: z.string().nullish(),
  operationName: z.string().nullish(),
  // Without a copy of each value.
  variables: z
    .custom<Variables>(
      (value) => typeof value === 'object' && !Array.isArray(value),
      'it must be a JSON object',
    )
    .nullish(),
  extensions: z
    .object({ persistedQuery: z.object({ version: z.literal(1), sha256Hash: DOCUMENT_ID }).nullish() })
    .nullish(),
  documentId: DOCUMENT_ID.nullish(),
});

/** The step that reads the body, or the query string of a GET. Throws ServiceError BAD_REQUEST. */
export function readParameters({ method, bodyText, url }: FastifyRequest): RequestParameters {
  if (method === 'POST') return read(parseJson('The body', bodyText ?? ''));
  const given = [...new URLSearchParams(/\?(.*)/s.exec(url)?.[1])];
  const parameters = new Map<string, unknown>(given);
  if (parameters.size < given.length) throw new ServiceError('BAD_REQUEST', 'A parameter is repeated');
  for (const [name, text] of given)
    if (name === 'variables' || name === 'extensions') parameters.set(name, parseJson(name, text));
  return read(Object.fromEntries(parameters));
}

function parseJson(what: string, text: string): unknown {
  try {
    return text === '' ? null : JSON.parse(text);
  } catch {
    throw new ServiceError('BAD_REQUEST', `${what} is not valid JSON`);
  }
}

function read(given: unknown): RequestParameters {
  const { success, data, error } = PARAMETERS.safeParse(given);
  if (!success) {
    const [{ path, message } = { path: [], message: '' }] = error.issues;
    const argument = path.join('.');
    if (argument === '') throw new ServiceError('BAD_REQUEST', 'The body must be one JSON object');
    const code = /^(extensions[.]|documentId)/.test(argument) ? 'BAD_USER_INPUT' : 'BAD_REQUEST';
    throw new ServiceError(code, `${argument}: ${message}`, { argument });
  }
  const { query, operationName, variables } = data;
  const reference = referenceIn(data);
  if (!query && reference === null)
    throw new ServiceError('BAD_REQUEST', 'query is required', { argument: 'query' });
  // Forms send an empty text instead of omitting it.
  return {
    query: query || undefined,
    reference,
    operationName: operationName || undefined,
    variables: variables ?? undefined,
  };
}

/** The document that a request names, also with an empty `query`, as some clients send it. */
function referenceIn({ query, extensions, documentId }: z.infer<typeof PARAMETERS>) {
  const sha256 = extensions?.persistedQuery?.sha256Hash;
  const id = sha256 ?? (query ? null : documentId) ?? null;
  const member = sha256 === undefined ? 'documentId' : 'extensions.persistedQuery.sha256Hash';
  return id === null ? null : { id: id.replace(/^sha256:/, ''), member };
}

/** Starts Apollo without a route of its own: the endpoint below has checked what Apollo's integration would check again. */
export class EndpointDriver extends ApolloDriver {
  protected override async registerFastify(options: ApolloDriverConfig): Promise<void> {
    this.apolloServer = new ApolloServer(options as ConstructorParameters<typeof ApolloServer>[0]);
    await this.apolloServer.start();
  }
}

/** The head of a request, for plugins of others. A class, because V8 keeps what a getter of an object literal refers to for long. */
class ApolloHead {
  readonly method = 'POST';
  readonly search = '';
  readonly body = undefined;

  constructor(private readonly request: FastifyRequest) {}

  get headers(): HeaderMap {
    return new HeaderMap(Object.entries(this.request.headers).map(([name, value]) => [name, String(value)]));
  }
}

@Injectable()
export class Endpoint {
  constructor(
    private readonly guard: OAuthGuard,
    private readonly limiter: RateLimiter,
    private readonly trusted: TrustedDocuments,
    private readonly accessLog: AccessLog,
    private readonly database: Database,
  ) {}

  /** @param bypass the scope of tokens that see everything; null: there is none */
  register(fastify: FastifyInstance, apollo: ApolloServer, bypass: string | null): void {
    for (const [name, value] of Object.entries(new RequestState())) {
      if (!fastify.hasRequestDecorator(name)) fastify.decorateRequest(name, value as null);
    }
    // A hook of all routes, because the route is only for some methods.
    fastify.addHook('onRequest', (request) =>
      isEndpoint(request) ? this.admit(request) : Promise.resolve(),
    );
    fastify.route({
      url: GRAPHQL_PATH,
      method: ['GET', 'POST'],
      handler: async (request, reply) => {
        const contextValue = new RequestContext(request, this.database, bypass);
        const { body, http } = await apollo.executeOperation(this.read(request), { contextValue });
        if (body.kind !== 'single') throw new Error('An operation has one result');
        const { principal, personalData, mirrorRead, rateLimits, raw } = request;
        void reply.code(http.status ?? 200).header('content-type', request.responseType ?? '');
        for (const [name, value] of http.headers) void reply.header(name, value);
        void reply.headers(rateLimitHeaders(rateLimits ?? []));
        if (mirrorRead !== null) void reply.headers(headersOfRead(mirrorRead));
        // A response without a body discloses no personal data.
        if (personalData !== null && principal !== null && raw.method !== 'HEAD')
          this.accessLog.note(principal, personalData);
        return bodyOf(body.singleResult);
      },
    });
  }

  private async admit(request: FastifyRequest): Promise<void> {
    request.rateLimits = [];
    try {
      readHead(request);
      request.principal = await this.guard.authenticate(request.raw, request.ip);
    } finally {
      // Rejected requests count against their address.
      await this.limiter.countRequest(request);
    }
  }

  /** Apollo gets the parameters that were checked here, in one form: it knows no HEAD, and no `documentId`. */
  private read(request: FastifyRequest): GraphQLRequest {
    request.parameters = this.trusted.resolve(readParameters(request));
    const { query, operationName, variables, reference } = request.parameters;
    const extensions = reference ? { persistedQuery: { version: 1, sha256Hash: reference.id } } : undefined;
    return { query, operationName, variables, extensions, http: new ApolloHead(request) };
  }
}
