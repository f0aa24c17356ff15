import { Injectable, type OnModuleInit } from '@nestjs/common';
import { type AbstractHttpAdapter, HttpAdapterHost } from '@nestjs/core';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { UnauthenticatedError } from '../auth/authentication.error.js';
import { Authenticator } from '../auth/authenticator.js';
import type { Principal } from '../auth/principal.js';
import { RateLimiter, type Standing } from './rate-limiter.js';
import { isEndpoint } from './refusal.js';
import { refuseByHead } from './request-head.js';
import { readRequest } from './request-shape.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** Who sent a request to the GraphQL endpoint; null: nobody said. */
    principal: Principal | null;
    /** What the headers of the answer tell about limits; null outside of the GraphQL endpoint. */
    standings: Standing[] | null;
  }
}

/**
 * The HTTP side of the GraphQL endpoint: what HTTP itself has to say about a request is decided here, before
 * Apollo sees it (docs/http.md).
 */
@Injectable()
export class GraphQLEndpoint implements OnModuleInit {
  constructor(
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
    fastify.decorateRequest('standings', null);
    // For all routes, since Nest has made that of the endpoint by now; a look at the path costs nothing.
    fastify.addHook('onRequest', async (request) => {
      if (isEndpoint(request)) await this.receive(request);
    });
    fastify.addHook('preHandler', (request, _reply, done) => {
      if (isEndpoint(request)) readRequest(request);
      done();
    });
    fastify.addHook('onSend', (request, reply, payload, done) => {
      if (request.standings !== null) tell(reply, request.standings);
      done(null, payload);
    });
  }

  private async receive(request: FastifyRequest): Promise<void> {
    refuseByHead(request);
    request.standings = [];
    try {
      request.principal = await this.authenticator.authenticate(request.raw);
    } catch (error) {
      // Guesses are counted as well, for the address that they come from.
      if (error instanceof UnauthenticatedError) await this.limiter.countRequest(request);
      throw error;
    }
    await this.limiter.countRequest(request);
  }
}

/** The fields of draft-ietf-httpapi-ratelimit-headers. */
function tell(reply: FastifyReply, standings: readonly Standing[]): void {
  if (standings.length === 0) return;
  const policies = standings.map(({ name, limit, window }) => `"${name}";q=${limit};w=${window}`);
  const limits = standings.map(({ name, remaining, reset, cost }) => {
    const price = cost === undefined ? '' : `;directory-cost=${cost}`;
    return `"${name}";r=${remaining};t=${reset}${price}`;
  });
  void reply.header('ratelimit-policy', policies.join(', ')).header('ratelimit', limits.join(', '));
}
