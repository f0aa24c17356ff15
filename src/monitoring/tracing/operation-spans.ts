import type { ApolloServerPlugin, GraphQLRequestListener } from '@apollo/server';
import { type Span, SpanStatusCode } from '@opentelemetry/api';
import { Plugin } from '@nestjs/apollo';
import type { RequestContext } from '../../graphql/request-context.js';
import { contextBelow, currentTrace } from './request-trace.js';
import { Tracing } from './tracing.js';

/** A span for each operation that is executed: what it is called, and what it costs. */
@Plugin()
export class OperationSpans implements ApolloServerPlugin<RequestContext> {
  constructor(private readonly tracing: Tracing) {}

  requestDidStart(): Promise<GraphQLRequestListener<RequestContext>> {
    const requestTrace = currentTrace();
    let span: Span | null = null;
    return Promise.resolve({
      didResolveOperation: () => {
        if (requestTrace !== undefined) {
          span = this.tracing.tracer.startSpan('operation', {}, contextBelow(requestTrace));
          requestTrace.operation = span;
        }
        return Promise.resolve();
      },
      willSendResponse: ({ contextValue, response }) => {
        const { body } = response;
        const hasErrors = body.kind === 'single' && (body.singleResult.errors?.length ?? 0) > 0;
        if (span !== null) end(span, contextValue, hasErrors);
        return Promise.resolve();
      },
    });
  }
}

function end(span: Span, { charge, request }: RequestContext, hasErrors: boolean): void {
  const { operation } = request;
  if (operation !== null) {
    const { type, name, field } = operation;
    span.updateName(`${type} ${name ?? field}`);
    span.setAttributes({
      'graphql.operation.type': type,
      ...(name === null ? {} : { 'graphql.operation.name': name }),
      'directory.operation.field': field,
    });
  }
  if (charge !== null) span.setAttribute('directory.operation.price', charge.cost);
  if (hasErrors) span.setStatus({ code: SpanStatusCode.ERROR });
  span.end();
}
