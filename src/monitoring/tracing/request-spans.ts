import {
  type Context,
  context,
  propagation,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
} from '@opentelemetry/api';
import { Injectable } from '@nestjs/common';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { contextOf, type RequestTrace } from './request-trace.js';
import { Tracing } from './tracing.js';

/**
 * Creates a span for each request, as a child of the span that the client names (W3C Trace Context). The span
 * has only the route of the URL, because the rest may contain any value.
 */
@Injectable()
export class RequestSpans {
  private readonly contexts = new WeakMap<FastifyRequest, Context>();

  constructor(private readonly tracing: Tracing) {}

  /** Registers the steps on Fastify. It is called once. */
  register(fastify: FastifyInstance): void {
    fastify.addHook('onRequest', (request, reply, done) => {
      context.with(this.begin(request, reply), done);
    });
    // Callbacks of body parsing run in the context of the socket, which belongs to no request.
    fastify.addHook('preHandler', (request, _reply, done) => {
      context.with(this.contexts.get(request) ?? ROOT_CONTEXT, done);
    });
  }

  private begin(request: FastifyRequest, reply: FastifyReply): Context {
    const { method } = request;
    const route = request.is404 ? null : (request.routeOptions.url ?? null);
    const parent = propagation.extract(ROOT_CONTEXT, request.headers);
    const span = this.tracing.tracer.startSpan(
      route === null ? method : `${method} ${route}`,
      {
        kind: SpanKind.SERVER,
        attributes: {
          'http.request.method': method,
          ...(route === null ? {} : { 'http.route': route }),
          'directory.request.id': request.id,
        },
      },
      parent,
    );
    request.traceId = span.spanContext().traceId;
    const requestTrace: RequestTrace = { request: span, operation: null };
    const own = contextOf(requestTrace, parent);
    this.contexts.set(request, own);
    // The event also occurs when the client has closed the connection.
    reply.raw.once('close', () => {
      end(requestTrace, request, reply);
    });
    return own;
  }
}

function end({ request: span, operation }: RequestTrace, request: FastifyRequest, reply: FastifyReply): void {
  const { statusCode } = reply;
  span.setAttribute('http.response.status_code', statusCode);
  if (statusCode >= 500) span.setStatus({ code: SpanStatusCode.ERROR });
  // A response from the response cache executes no operation.
  if (request.operation !== null && operation === null) {
    span.setAttributes({
      'graphql.operation.type': request.operation.type,
      ...(request.operation.name === null ? {} : { 'graphql.operation.name': request.operation.name }),
      'directory.remembered': true,
    });
  }
  span.end();
}
