import diagnosticsChannel from 'node:diagnostics_channel';
import { type Span, SpanStatusCode } from '@opentelemetry/api';
import { Injectable, type OnModuleDestroy } from '@nestjs/common';
import type { FastifyInstance } from 'fastify';
import { operationChannel } from '../../graphql/analysis/operation-validator.js';
import type { RequestContext } from '../../graphql/http/request-context.js';
import { contextBelow, currentTrace } from './request-trace.js';
import { Tracing } from './tracing.js';

/** An operation in progress. */
interface Traced {
  readonly span: Span;
  readonly context: RequestContext;
}

/**
 * Creates a span for each executed operation, which ends with its response. It has the name and the cost of
 * the operation.
 */
@Injectable()
export class OperationSpans implements OnModuleDestroy {
  private readonly underWay = new WeakMap<object, Traced>();

  constructor(private readonly tracing: Tracing) {}

  /** Registers the end of operations on Fastify. It is called once. */
  register(fastify: FastifyInstance): void {
    diagnosticsChannel.subscribe(operationChannel.name, this.begin);
    fastify.addHook('onSend', (request, _reply, payload, done) => {
      const traced = this.underWay.get(request);
      if (traced !== undefined) end(traced, payload);
      done(null, payload);
    });
  }

  onModuleDestroy(): void {
    diagnosticsChannel.unsubscribe(operationChannel.name, this.begin);
  }

  private readonly begin = (message: unknown): void => {
    const requestTrace = currentTrace();
    const context = message as RequestContext;
    const { operation } = context.request;
    if (requestTrace === undefined || operation === null) return;
    const { type, name, field } = operation;
    const attributes = {
      'graphql.operation.type': type,
      ...(name === null ? {} : { 'graphql.operation.name': name }),
      'directory.operation.field': field,
    };
    const parent = contextBelow(requestTrace);
    const span = this.tracing.tracer.startSpan(`${type} ${name ?? field}`, { attributes }, parent);
    requestTrace.operation = span;
    this.underWay.set(context.request, { span, context });
  };
}

function end({ span, context: { charge } }: Traced, payload: unknown): void {
  if (charge !== null) span.setAttribute('directory.operation.price', charge.cost);
  // `errors` is the first member of a response.
  if (typeof payload === 'string' && payload.startsWith('{"errors"')) {
    span.setStatus({ code: SpanStatusCode.ERROR });
  }
  span.end();
}
