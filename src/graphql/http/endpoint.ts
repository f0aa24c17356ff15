import { hash } from 'node:crypto';
import { Readable } from 'node:stream';
import { ApolloServer, type GraphQLRequest, HeaderMap } from '@apollo/server';
import { ApolloDriver, type ApolloDriverConfig } from '@nestjs/apollo';
import { Injectable } from '@nestjs/common';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { AccessLog } from '../../access-log/access-log.js';
import { OAuthGuard } from '../../auth/oauth.guard.js';
import { Database } from '../../database/database.js';
import { headersOfRead } from '../../database/staleness.js';
import { matchesEtag } from '../../http/headers.js';
import { bodyOf } from '../cache/response-cache.js';
import { RateLimiter, rateLimitHeaders } from '../rate-limit/rate-limiter.js';
import { LoadShedder } from './load-shedder.js';
import { TrustedDocuments } from './persisted-documents.js';
import { RequestContext } from './request-context.js';
import { readHead, readParameters } from './request-reading.js';
import { GRAPHQL_PATH, isEndpoint, RequestState } from './request-state.js';

/** Characters of an entity tag, of six bits each. */
const TAG_LENGTH = 22;

/** For caches of one client only, which ask before each use. A shared cache that ignores it must distinguish callers. */
const REVALIDATED = { 'cache-control': 'private, no-cache', vary: 'Accept, Authorization, Origin' };

/** Starts Apollo without a route of its own: the endpoint below has checked what Apollo's integration would check again. */
export class EndpointDriver extends ApolloDriver {
  protected override async registerFastify(options: ApolloDriverConfig): Promise<void> {
    this.apolloServer = new ApolloServer(options as ConstructorParameters<typeof ApolloServer>[0]);
    await this.apolloServer.start();
  }
}

/** The steps of the endpoint before and behind Apollo. */
@Injectable()
export class Endpoint {
  constructor(
    private readonly shedder: LoadShedder,
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
    fastify.addHook('onRequest', (request, _reply, done) => {
      if (!isEndpoint(request)) done();
      else
        this.admit(request).then(() => {
          done();
        }, done);
    });
    fastify.route({
      url: GRAPHQL_PATH,
      method: ['GET', 'POST'],
      handler: async (request, reply) => {
        const contextValue = new RequestContext(request, this.database, bypass);
        const { body, http } = await apollo.executeOperation(this.read(request), { contextValue });
        if (body.kind !== 'single') throw new Error('An operation has one result');
        void reply.header('content-type', request.responseType ?? '');
        for (const [name, value] of http.headers) void reply.header(name, value);
        return this.finish(request, reply.code(http.status ?? 200), bodyOf(body.singleResult));
      },
    });
  }

  /** Before the body is read. */
  private async admit(request: FastifyRequest): Promise<void> {
    request.rateLimits = [];
    this.shedder.admit();
    try {
      readHead(request);
      request.principal = await this.guard.authenticate(request.raw, request.ip);
    } catch (error) {
      // Rejected requests count against their address.
      await this.limiter.countRequest(request);
      throw error;
    }
    await this.limiter.countRequest(request);
  }

  /** Apollo gets the parameters that were checked here, in one form: it knows no HEAD, and no `documentId`. */
  private read(request: FastifyRequest): GraphQLRequest {
    request.parameters = this.trusted.resolve(readParameters(request));
    const { query, reference, operationName, variables } = request.parameters;
    return {
      query: query === '' ? undefined : query,
      operationName: operationName ?? undefined,
      variables: variables ?? undefined,
      extensions: reference ? { persistedQuery: { version: 1, sha256Hash: reference.id } } : undefined,
      http: {
        method: 'POST',
        search: '',
        body: undefined,
        // Only plugins of others read them.
        get headers() {
          return new HeaderMap(Object.entries(request.headers).map(([name, value]) => [name, String(value)]));
        },
      },
    };
  }

  /** The payload of the response. */
  private finish(
    request: FastifyRequest,
    reply: FastifyReply,
    body: string | Buffer,
  ): FastifyReply | Readable | string | Buffer {
    const { principal, personalData, mirrorRead, raw } = request;
    void reply.headers(rateLimitHeaders(request.rateLimits ?? []) ?? {});
    if (mirrorRead !== null) void reply.headers(headersOfRead(mirrorRead));
    if (isUnchanged(request, reply, body)) {
      void reply.code(304).removeHeader('content-type');
      // Without a body, there is no length either (RFC 9110 §8.6). For HEAD, Fastify announces one unless it is a stream.
      return raw.method === 'HEAD' ? Readable.from([]) : reply.send();
    }
    // A response without a body discloses no personal data.
    if (personalData !== null && principal !== null && raw.method !== 'HEAD')
      this.accessLog.note(principal, personalData);
    return body;
  }
}

/** Gives a response to GET its entity tag. Returns whether the client has the response (RFC 9110 §13.1.2, docs/adr/0017). */
function isUnchanged(request: FastifyRequest, reply: FastifyReply, body: string | Buffer): boolean {
  if (!request.isRevalidated || request.raw.method === 'POST' || reply.statusCode !== 200) return false;
  const digest = hash('sha256', `${request.responseType}\n${String(body)}`, 'base64url');
  const tag = `"${digest.slice(0, TAG_LENGTH)}"`;
  void reply.headers({ ...REVALIDATED, etag: `W/${tag}` });
  return matchesEtag(request.headers['if-none-match'], tag);
}
