import diagnosticsChannel from 'node:diagnostics_channel';
import {
  type Attributes,
  type Context,
  context,
  propagation,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
} from '@opentelemetry/api';
import { Injectable, type OnModuleDestroy } from '@nestjs/common';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { operationChannel } from '../../graphql/analysis/operation-validator.js';
import { PROBE_ROUTES } from '../../health/health.controller.js';
import type { RequestContext } from '../../graphql/http/request-context.js';
import { contextBelow, contextOf, currentTrace, type RequestTrace, Tracing } from './tracing.js';

interface Traced {
  readonly span: Span;
  readonly context: RequestContext;
}

/**
 * Creates a span for each request, as a child of the span that the client names (W3C Trace Context), and one below it for
 * each executed operation. The span of a request has only the route of the URL, because the rest may contain any value. Probes
 * have none.
 */
@Injectable()
export class RequestSpans implements OnModuleDestroy {
  private readonly contexts = new WeakMap<FastifyRequest, Context>();
  private readonly operations = new WeakMap<object, Traced>();

  constructor(private readonly tracing: Tracing) {}

  /** Registers the steps on Fastify. It is called once. */
  register(fastify: FastifyInstance): void {
    fastify.addHook('onRequest', (request, reply, done) => {
      if (PROBE_ROUTES.has(request.routeOptions.url ?? '')) done();
      else context.with(this.begin(request, reply), done);
    });
    // Callbacks of body parsing run in the context of the socket, which belongs to no request.
    fastify.addHook('preHandler', (request, _reply, done) => {
      context.with(this.contexts.get(request) ?? ROOT_CONTEXT, done);
    });
    diagnosticsChannel.subscribe(operationChannel.name, this.beginOperation);
    fastify.addHook('onSend', (request, _reply, payload, done) => {
      const traced = this.operations.get(request);
      if (traced !== undefined) endOperation(traced, payload);
      done(null, payload);
    });
  }

  onModuleDestroy(): void {
    diagnosticsChannel.unsubscribe(operationChannel.name, this.beginOperation);
  }

  private readonly beginOperation = (message: unknown): void => {
    const requestTrace = currentTrace();
    const started = message as RequestContext;
    const { operation } = started.request;
    if (requestTrace === undefined || operation === null) return;
    const { type, name, field } = operation;
    const attributes = { ...describeOperation(operation), 'directory.operation.field': field };
    const parent = contextBelow(requestTrace);
    const span = this.tracing.tracer.startSpan(`${type} ${name ?? field}`, { attributes }, parent);
    requestTrace.operation = span;
    this.operations.set(started.request, { span, context: started });
  };

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
    span.setAttributes({ ...describeOperation(request.operation), 'directory.remembered': true });
  }
  span.end();
}

function endOperation({ span, context: { cost } }: Traced, payload: unknown): void {
  if (cost !== null) span.setAttribute('directory.operation.cost', cost.points);
  // `errors` is the first member of a response.
  if (typeof payload === 'string' && payload.startsWith('{"errors"')) {
    span.setStatus({ code: SpanStatusCode.ERROR });
  }
  span.end();
}

function describeOperation({ type, name }: NonNullable<FastifyRequest['operation']>): Attributes {
  return { 'graphql.operation.type': type, ...(name === null ? {} : { 'graphql.operation.name': name }) };
}
