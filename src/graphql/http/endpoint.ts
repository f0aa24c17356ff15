import { hash } from 'node:crypto';
import { Readable } from 'node:stream';
import { Injectable } from '@nestjs/common';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { AccessLog } from '../../access-log/access-log.js';
import { OAuthGuard } from '../../auth/oauth.guard.js';
import { headersOfRead } from '../../database/staleness.js';
import { matchesEtag } from '../../http/entity-tags.js';
import { rateLimitHeaders, RateLimiter } from '../rate-limit/rate-limiter.js';
import { compressed } from './compression.js';
import { LoadShedder, overloaded } from './load-shedder.js';
import { TrustedDocuments } from './persisted-documents.js';
import { isEndpoint, RequestState } from './request-state.js';
import { readHead, readParameters } from './request-reading.js';

/** Characters of an entity tag, of six bits each. */
const TAG_LENGTH = 22;

/** For caches of one client only, which ask before each use. A shared cache that ignores it must distinguish callers. */
const REVALIDATED = {
  'cache-control': 'private, no-cache',
  vary: 'Accept, Accept-Encoding, Authorization, Origin',
};

/** The steps of the endpoint before and behind Apollo, as hooks of Fastify. */
@Injectable()
export class Endpoint {
  constructor(
    private readonly shedder: LoadShedder,
    private readonly guard: OAuthGuard,
    private readonly limiter: RateLimiter,
    private readonly trusted: TrustedDocuments,
    private readonly accessLog: AccessLog,
  ) {}

  register(fastify: FastifyInstance): void {
    for (const [name, value] of Object.entries(new RequestState())) {
      if (!fastify.hasRequestDecorator(name)) fastify.decorateRequest(name, value as null);
    }
    fastify.addHook('onRequest', async (request) => {
      if (isEndpoint(request)) await this.admit(request);
    });
    fastify.addHook('preHandler', (request, _reply, done) => {
      if (request.rateLimits !== null) this.read(request);
      done();
    });
    fastify.addHook('onSend', async (request, reply, payload) =>
      request.rateLimits === null ? payload : this.finish(request, reply, payload),
    );
  }

  /** Before the body is read. */
  private async admit(request: FastifyRequest): Promise<void> {
    request.rateLimits = [];
    if (this.shedder.rejectsUnread(performance.now())) throw overloaded();
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
  private read(request: FastifyRequest): void {
    request.parameters = this.trusted.resolve(readParameters(request));
    const { query, reference, operationName, variables } = request.parameters;
    const extensions = reference && { persistedQuery: { version: 1, sha256Hash: reference.id } };
    request.body = { query: query === '' ? undefined : query, operationName, variables, extensions };
    // Only where it differs: V8 makes a request with a property of its own slower.
    if (request.method !== 'POST')
      Object.defineProperty(request, 'method', { value: 'POST', configurable: true });
  }

  private async finish(request: FastifyRequest, reply: FastifyReply, payload: unknown): Promise<unknown> {
    if (request.raw.method !== 'POST') Reflect.deleteProperty(request, 'method');
    const { rateLimits, mirrorRead } = request;
    const limits = rateLimitHeaders(rateLimits ?? []);
    if (limits !== null) void reply.headers(limits);
    if (mirrorRead !== null) void reply.headers(headersOfRead(mirrorRead));
    if (typeof payload !== 'string') return payload;
    if (isUnchanged(request, reply, payload)) {
      void reply.code(304).removeHeader('content-type');
      // Without a body, there is no length either (RFC 9110 §8.6). For HEAD, Fastify announces one unless it is a stream.
      return request.raw.method === 'HEAD' ? Readable.from([]) : null;
    }
    const { principal, personalData } = request;
    // A response without a body discloses no personal data.
    if (personalData !== null && principal !== null && request.raw.method !== 'HEAD')
      this.accessLog.note(principal, personalData);
    if (reply.statusCode !== 200) return payload;
    const { headers, body } = await compressed(payload, request.compression);
    void reply.headers(headers);
    return body;
  }
}

/** Gives a response to GET its entity tag. Returns whether the client has the response (RFC 9110 §13.1.2, docs/adr/0017). */
function isUnchanged(request: FastifyRequest, reply: FastifyReply, body: string): boolean {
  if (!request.isRevalidated || request.raw.method === 'POST' || reply.statusCode !== 200) return false;
  const digest = hash('sha256', `${request.responseType}\n${body}`, 'base64url');
  const tag = `"${digest.slice(0, TAG_LENGTH)}"`;
  void reply.headers({ ...REVALIDATED, etag: `W/${tag}` });
  return matchesEtag(request.headers['if-none-match'], tag);
}
