import { Inject, Injectable, Logger, type OnModuleInit } from '@nestjs/common';
import { type AbstractHttpAdapter, HttpAdapterHost } from '@nestjs/core';
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from 'fastify';
import Negotiator from 'negotiator';
import { Authenticator } from '../auth/authenticator.js';
import type { Principal } from '../auth/principal.js';
import { ServiceError } from '../common/errors.js';
import type { Config } from '../config/config.js';
import { CONFIG } from '../config/config.module.js';
import { formatError, httpOf, toGraphQLError } from './error-response.js';
import { countedAs, RateLimitedError, RateLimiter, type Standing } from './rate-limiter.js';
import { readRequest } from './request-shape.js';

export const GRAPHQL_PATH = '/graphql/v1';

const RESPONSE_TYPES = ['application/json', 'application/graphql-response+json'];
/** Bytes of a request target: larger questions are sent by POST. */
const LONGEST_URL = 8192;
/** Bytes of all header fields together. */
const LARGEST_HEADERS = 16_384;

declare module 'fastify' {
  interface FastifyRequest {
    /** Who sent a request to the GraphQL endpoint; null: nobody said. */
    principal: Principal | null;
  }
}

/**
 * The HTTP side of the GraphQL endpoint: what HTTP itself has to say about a request is decided here, before
 * Apollo sees it, and every refusal is a GraphQL response (docs/http.md).
 */
@Injectable()
export class GraphQLEndpoint implements OnModuleInit {
  private readonly logger = new Logger('GraphQL');

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    private readonly adapterHost: HttpAdapterHost,
    private readonly authenticator: Authenticator,
    private readonly limiter: RateLimiter,
  ) {}

  onModuleInit(): void {
    // Commands run without HTTP, and then there is no adapter, whatever its type says.
    const adapter = this.adapterHost.httpAdapter as AbstractHttpAdapter | null | undefined;
    if (!adapter) return;
    const fastify = adapter.getInstance<FastifyInstance>();
    fastify.decorateRequest('principal', null);
    fastify.addHook('onRequest', (request, reply) => this.receive(request, reply));
    fastify.addHook('onRoute', (route: RouteOptions) => {
      if (route.url !== GRAPHQL_PATH) return;
      route.bodyLimit = this.config.limits.bodyBytes;
      route.preHandler = readRequest;
      route.errorHandler = (error, request, reply) => this.refuse(error, request, reply);
    });
  }

  private async receive(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    if (pathOf(request) !== GRAPHQL_PATH) return;
    try {
      refuseByHead(request);
      request.principal = await this.authenticator.authenticate(request.raw);
      tell(reply, await this.limiter.countRequest(countedAs(request.principal, request.ip)));
    } catch (error) {
      await this.refuse(error, request, reply);
    }
  }

  /** Answers a request that never became an operation. */
  private refuse(error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
    const known = error instanceof ServiceError ? error : serviceErrorOf(error as FastifyError);
    if (known === null) {
      this.logger.error(`Request ${request.id} failed: ${error instanceof Error ? (error.stack ?? '') : ''}`);
    }
    const shown = known ?? new ServiceError('INTERNAL_SERVER_ERROR', 'Something went wrong on our side');
    const { status, headers } = httpOf(shown);
    if (error instanceof RateLimitedError) tell(reply, error.standing);
    if (shown.code === 'METHOD_NOT_ALLOWED') void reply.header('allow', 'GET, POST');
    const graphQLError = toGraphQLError(shown, { refuses: false });
    return reply
      .code(statusOf(error) ?? status)
      .headers(Object.fromEntries(headers))
      .header('cache-control', 'no-store')
      .type(`${responseType(request) ?? 'application/json'}; charset=utf-8`)
      .serializer((body: unknown) => JSON.stringify(body))
      .send({ errors: [formatError(graphQLError.toJSON(), graphQLError, request.id)] });
  }
}

function pathOf(request: FastifyRequest): string {
  const question = request.url.indexOf('?');
  return question < 0 ? request.url : request.url.slice(0, question);
}

/** Everything that can be refused without reading a body. */
function refuseByHead(request: FastifyRequest): void {
  const { method, url, headers, raw } = request;
  if (method !== 'GET' && method !== 'POST') {
    throw new ServiceError('METHOD_NOT_ALLOWED', 'The endpoint answers GET and POST');
  }
  if (url.length > LONGEST_URL) {
    throw new StatusError(
      414,
      'PAYLOAD_TOO_LARGE',
      `The URL is longer than ${LONGEST_URL} bytes: send the query by POST`,
    );
  }
  if (raw.rawHeaders.reduce((bytes, text) => bytes + text.length + 2, 0) > LARGEST_HEADERS) {
    throw new StatusError(431, 'PAYLOAD_TOO_LARGE', `The headers are larger than ${LARGEST_HEADERS} bytes`);
  }
  if (!URL.canParse(`http://${headers.host ?? 'localhost'}/`)) {
    throw new ServiceError('BAD_REQUEST', 'The Host header is malformed');
  }
  if (method === 'POST' && !isJson(headers['content-type'])) {
    throw new ServiceError(
      'UNSUPPORTED_MEDIA_TYPE',
      'The body must be JSON: Content-Type: application/json, in UTF-8',
    );
  }
  if (responseType(request) === undefined) {
    throw new ServiceError(
      'NOT_ACCEPTABLE',
      `The answer is ${RESPONSE_TYPES.join(' or ')}: Accept has to allow one`,
    );
  }
}

/** RFC 9110 §8.3.1; JSON is UTF-8 where no charset is named (RFC 8259 §8.1), and no other is spoken here. */
function isJson(contentType: string | undefined): boolean {
  const [type = '', ...parameters] = (contentType ?? '')
    .toLowerCase()
    .split(';')
    .map((part) => part.trim());
  return (
    type === 'application/json' &&
    parameters.every(
      (parameter) => !parameter.startsWith('charset=') || /^charset="?utf-?8"?$/.test(parameter),
    )
  );
}

function responseType(request: FastifyRequest): string | undefined {
  return new Negotiator(request.raw).mediaType(RESPONSE_TYPES);
}

/** A refusal whose status says more than its code. */
class StatusError extends ServiceError {
  constructor(
    readonly status: number,
    ...rest: ConstructorParameters<typeof ServiceError>
  ) {
    super(...rest);
  }
}

function statusOf(error: unknown): number | null {
  return error instanceof StatusError ? error.status : null;
}

/** What Fastify refuses itself, in our words; null when it is a failure of ours. */
function serviceErrorOf({ code, statusCode }: Partial<FastifyError>): ServiceError | null {
  if (statusCode === 413) return new ServiceError('PAYLOAD_TOO_LARGE', 'The body is too large');
  if (statusCode === 415)
    return new ServiceError(
      'UNSUPPORTED_MEDIA_TYPE',
      'The body must be JSON: Content-Type: application/json',
    );
  if (statusCode !== undefined && statusCode >= 400 && statusCode < 500) {
    const message =
      code === 'FST_ERR_CTP_EMPTY_JSON_BODY' ? 'The body is empty' : 'The body is not valid JSON';
    return new ServiceError('BAD_REQUEST', message);
  }
  return null;
}

/** The fields of draft-ietf-httpapi-ratelimit-headers. */
function tell(reply: FastifyReply, { name, limit, window, remaining, reset }: Standing): void {
  void reply.header('ratelimit-policy', `"${name}";q=${limit};w=${window}`);
  void reply.header('ratelimit', `"${name}";r=${remaining};t=${reset}`);
}
