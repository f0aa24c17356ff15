import type { IncomingHttpHeaders } from 'node:http';
import { LRUCache } from 'lru-cache';
import { ServiceError } from '../../common/errors.js';
import { parseUrl } from '../../common/url.js';
import { responseType } from '../errors/error-response.js';
import { readMaxStaleness, headersOfRead } from '../../database/revisions.js';
import type { FastifyRequest, FastifyInstance, FastifyReply } from 'fastify';
import {
  type RequestParameters,
  RequestContext,
  GRAPHQL_PATH,
  isEndpoint,
  RequestState,
} from './request-context.js';
import { RejectionError } from '../../http/rejection.js';
import { hash } from 'node:crypto';
import { Readable } from 'node:stream';
import { ApolloServer, type GraphQLRequest, HeaderMap } from '@apollo/server';
import { ApolloDriver, type ApolloDriverConfig } from '@nestjs/apollo';
import { Injectable } from '@nestjs/common';
import { z } from 'zod';
import { AccessLog } from '../../access-log/access-log.js';
import { OAuthGuard } from '../../auth/oauth.guard.js';
import { Database } from '../../database/database.js';
import { matchesEtag } from '../../http/headers.js';
import { bodyOf } from '../cache/response-cache.js';
import { RateLimiter, rateLimitHeaders } from '../rate-limit/rate-limiter.js';
import { LoadShedder } from './load-shedder.js';
import { TrustedDocuments } from './documents.js';

const MAX_HEADER_BYTES = 16_384;

/** The media types of the responses to valid heads, cached because clients repeat the same head. */
const correct = new LRUCache<string, string>({ max: 1000 });
const MAX_CACHED_LENGTH = 500;

/** Checks the head before the body is read. Throws as in the table of docs/http.md. */
function readHead(request: FastifyRequest): void {
  const { method, raw } = request;
  if (method !== 'GET' && method !== 'HEAD' && method !== 'POST') {
    const message = 'The endpoint accepts GET, HEAD and POST';
    throw new RejectionError(405, 'METHOD_NOT_ALLOWED', message, { allow: 'GET, HEAD, POST' });
  }
  let bytes = 0;
  for (const text of raw.rawHeaders) bytes += text.length + 2;
  if (bytes > MAX_HEADER_BYTES) {
    const message = `The headers are larger than ${MAX_HEADER_BYTES} bytes`;
    throw new RejectionError(431, 'PAYLOAD_TOO_LARGE', message);
  }
  request.maxStaleness = readMaxStaleness(raw.headers);
  const { host, accept, 'content-type': contentType, 'content-encoding': coding } = raw.headers;
  const key = JSON.stringify([method, host, accept, contentType, coding]);
  let type = correct.get(key);
  if (type === undefined) {
    type = checkFields(request);
    if (key.length <= MAX_CACHED_LENGTH) correct.set(key, type);
  }
  request.responseType = type;
}

function checkFields({ method, raw }: FastifyRequest): string {
  const { host } = raw.headers;
  if (host === undefined || /[/?#@\\]/.test(host) || parseUrl(`http://${host}/`) === null)
    throw new ServiceError('BAD_REQUEST', 'The Host header is missing or malformed');
  if (method === 'POST') checkBodyFields(raw.headers);
  const mediaType = responseType(raw);
  if (mediaType !== undefined) return mediaType;
  throw new ServiceError(
    'NOT_ACCEPTABLE',
    'The answer is application/json or application/graphql-response+json: Accept has to allow one',
  );
}

function checkBodyFields(headers: IncomingHttpHeaders): void {
  const reject = (message: string) => {
    throw new ServiceError('UNSUPPORTED_MEDIA_TYPE', message);
  };
  if (!isJson(headers['content-type']))
    reject('The body must be JSON: Content-Type: application/json, in UTF-8');
  const coding = headers['content-encoding'] ?? 'identity';
  if (coding.toLowerCase() !== 'identity') reject('The body must be sent without Content-Encoding');
}

/** RFC 9110 §8.3.1. Without a charset, JSON is UTF-8 (RFC 8259 §8.1), the only accepted charset. */
function isJson(contentType: string | undefined): boolean {
  const [type = '', ...parameters] = (contentType ?? '')
    .toLowerCase()
    .split(';')
    .map((part) => part.trim());
  return (
    type === 'application/json' &&
    parameters.every((parameter) => !/^charset\s*=/.test(parameter) || /^charset="?utf-?8"?$/.test(parameter))
  );
}

type Members = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** A hash, or the id of a trusted document (GraphQL over HTTP, draft, appendix A). */
const DOCUMENT_ID = z.string().regex(/^[\w.~:-]{1,200}$/, 'a hash, or an id of at most 200 characters');

/** What the members of a request must be (GraphQL over HTTP, draft, §5.4). Others are ignored. */
const PARAMETERS = z.object({
  // A document contains no NUL (GraphQL October 2021, §2.1.1), but parsers accept it within strings.
  query: z
    .string()
    .refine((text) => !text.includes('\0'), 'it must contain no NUL')
    .nullish(),
  operationName: z.string().nullish(),
  // Without a copy of each value.
  variables: z.custom<Members>(isObject, 'it must be a JSON object').nullish(),
  extensions: z
    .object({ persistedQuery: z.object({ version: z.literal(1), sha256Hash: DOCUMENT_ID }).nullish() })
    .nullish(),
  documentId: DOCUMENT_ID.nullish(),
});

/** The step that reads the body, or the query string of a GET. Throws ServiceError BAD_REQUEST. */
export function readParameters({ method, bodyText, url }: FastifyRequest): RequestParameters {
  if (method !== 'POST') return readSearch(url);
  try {
    return read(JSON.parse(bodyText ?? ''));
  } catch (error) {
    if (error instanceof ServiceError) throw error;
    throw new ServiceError('BAD_REQUEST', 'The body is not valid JSON');
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
  return {
    query: query ?? '',
    reference,
    // Forms send an empty name instead of omitting it.
    operationName: operationName === '' ? null : (operationName ?? null),
    variables: variables ?? null,
  };
}

/** The document that a request names, also with an empty `query`, as some clients send it. */
function referenceIn({ query, extensions, documentId }: z.infer<typeof PARAMETERS>) {
  const sha256 = extensions?.persistedQuery?.sha256Hash;
  const id = sha256 ?? (query ? null : documentId) ?? null;
  const member = sha256 === undefined ? 'documentId' : 'extensions.persistedQuery.sha256Hash';
  return id === null ? null : { id: id.replace(/^sha256:/, ''), member };
}

function readSearch(url: string): RequestParameters {
  const given = new URLSearchParams(/\?(.*)/s.exec(url)?.[1]);
  const parameters: Record<string, unknown> = {};
  for (const name of Object.keys(PARAMETERS.shape)) {
    const [text = null, ...others] = given.getAll(name);
    if (others.length > 0) throw new ServiceError('BAD_REQUEST', `${name} is repeated`, { argument: name });
    const isJson = name === 'variables' || name === 'extensions';
    parameters[name] = isJson ? readJson(name, text) : text;
  }
  return read(parameters);
}

function readJson(name: string, text: string | null): unknown {
  try {
    return text === null || text === '' ? null : JSON.parse(text);
  } catch {
    throw new ServiceError('BAD_REQUEST', `${name} must be a JSON object`, { argument: name });
  }
}

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
  const tag = `"${hash('sha256', `${request.responseType}\n${String(body)}`, 'base64url').slice(0, 22)}"`;
  void reply.headers({ ...REVALIDATED, etag: `W/${tag}` });
  return matchesEtag(request.headers['if-none-match'], tag);
}
