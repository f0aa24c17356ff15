import type { RejectedRequest } from '../../http/rejection.js';
import type { IncomingMessage } from 'node:http';
import type { FastifyRequest } from 'fastify';
import type { Principal } from '../../auth/principal.js';
import { chooseRequestId } from '../../http/malformed-requests.js';
import type { OperationLabel } from '../analysis/operation.js';
import type { ValidatedOperation } from '../execution/operations.js';
import type { ResponseCacheKey } from '../cache/response-cache.js';
import type { MirrorRead } from '../../database/staleness.js';
import type { RateLimitState } from '../rate-limit/rate-limiter.js';
import type { RequestContext } from './request-context.js';

export const GRAPHQL_PATH = '/graphql/v1';

/** Whether a request is for the endpoint itself. The router also accepts other spellings of its path. */
export function isEndpoint({ url, routeOptions }: Pick<RejectedRequest, 'url' | 'routeOptions'>): boolean {
  return url === GRAPHQL_PATH || url.startsWith(`${GRAPHQL_PATH}?`) || routeOptions.url === GRAPHQL_PATH;
}

/** The parameters of a request (GraphQL over HTTP, draft, §5.4). `extensions` are accepted and ignored. */
export interface RequestParameters {
  readonly query: string;
  readonly operationName: string | null;
  readonly variables: Readonly<Record<string, unknown>> | null;
}

export class PipelineState {
  /** Null if the request has no token. */
  principal: Principal | null = null;
  /** The rate limits that were charged, requests first; null if the request is not for the endpoint. */
  rateLimits: RateLimitState[] | null = null;
  /** The media type of the response; null before the head is read. */
  responseType: string | null = null;
  /** Maximum age of the mirror in seconds; null if there is no limit. */
  maxStaleness: number | null = null;
  /** The body as it was sent; null if there is none. */
  bodyText: string | null = null;
  cacheKey: ResponseCacheKey | null = null;
  /** Whether the load shedder counts the request as an operation in progress. */
  isUnderWay = false;
  parameters: RequestParameters | null = null;
  context: RequestContext | null = null;
  validated: ValidatedOperation | null = null;
  /** The label for logs and metrics; null if there is no operation. */
  operation: OperationLabel | null = null;
  /** Number of statements that the operation has sent. */
  statements = 0;
  /** The state from which the response was read; null if it contains nothing of the mirror. */
  mirrorRead: MirrorRead | null = null;
  /** Number of completed steps of the pipeline. */
  stepsDone = 0;
}

/** A request as the steps see it: a request of Fastify, or one that Fastify has not seen. */
export type PipelineRequest = PipelineState &
  Pick<FastifyRequest, 'id' | 'method' | 'url' | 'raw' | 'headers'> & { readonly ip: string };

declare module 'fastify' {
  // eslint-disable-next-line @typescript-eslint/no-empty-object-type -- only an interface can be merged
  interface FastifyRequest extends PipelineState {}
}

declare module 'node:http' {
  interface IncomingMessage {
    /** Set if the fast path has done some steps. */
    preparsed?: PreparsedRequest;
  }
}

/** A request to the endpoint that Fastify has not seen. */
export class PreparsedRequest extends PipelineState implements PipelineRequest {
  readonly id: string;
  readonly method: string;
  readonly url: string;
  /** Unknown, because only Fastify determines the address behind a proxy. */
  readonly ip = '';
  readonly headers: FastifyRequest['headers'];

  constructor(readonly raw: IncomingMessage) {
    super();
    this.id = chooseRequestId(raw);
    this.headers = raw.headers;
    this.method = raw.method ?? '';
    this.url = raw.url ?? '';
    this.rateLimits = [];
  }
}

/** Continues with a request of the fast path. Its body has been read, so Fastify must not expect one. */
export function adoptPreparsed(request: FastifyRequest): void {
  const { preparsed } = request.raw;
  if (preparsed === undefined) return;
  request.principal = preparsed.principal;
  request.rateLimits = preparsed.rateLimits;
  request.responseType = preparsed.responseType;
  request.cacheKey = preparsed.cacheKey;
  request.stepsDone = preparsed.stepsDone;
  if (preparsed.bodyText === null) return;
  request.bodyText = preparsed.bodyText;
  request.raw.headers['content-type'] = undefined;
  request.raw.headers['content-length'] = undefined;
}

/** A response of the endpoint, before the headers that every response has. */
export interface PipelineResponse {
  readonly status: number;
  readonly type: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Buffer;
}
