import diagnosticsChannel from 'node:diagnostics_channel';
import { propagation, type Span, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import { Injectable, type OnModuleDestroy } from '@nestjs/common';
import { contextBelow, currentTrace } from './request-trace.js';
import { Tracing } from './tracing.js';

/** A request of `fetch`, as reported by the diagnostics channels of Node's undici. */
interface FetchRequest {
  readonly origin: string | URL;
  readonly method: string;
  addHeader(name: string, value: string): void;
}

interface FetchMessage {
  readonly request: FetchRequest;
  readonly response?: { readonly statusCode: number };
}

const CREATED = 'undici:request:create';
const ANSWERED = 'undici:request:headers';
const FAILED = 'undici:request:error';

/**
 * Propagates the trace to the identity provider, and creates a span for each request to it that belongs to an
 * incoming request.
 */
@Injectable()
export class IssuerSpans implements OnModuleDestroy {
  private readonly spans = new WeakMap<FetchRequest, Span>();

  constructor(private readonly tracing: Tracing) {
    diagnosticsChannel.subscribe(CREATED, this.begin);
    diagnosticsChannel.subscribe(ANSWERED, this.end);
    diagnosticsChannel.subscribe(FAILED, this.end);
  }

  onModuleDestroy(): void {
    diagnosticsChannel.unsubscribe(CREATED, this.begin);
    diagnosticsChannel.unsubscribe(ANSWERED, this.end);
    diagnosticsChannel.unsubscribe(FAILED, this.end);
  }

  private readonly begin = (message: unknown): void => {
    const requestTrace = currentTrace();
    if (requestTrace === undefined) return;
    const { request } = message as FetchMessage;
    const parent = contextBelow(requestTrace);
    const span = this.tracing.tracer.startSpan(
      `${request.method} identity provider`,
      {
        kind: SpanKind.CLIENT,
        attributes: {
          'http.request.method': request.method,
          'server.address': new URL(request.origin).host,
        },
      },
      parent,
    );
    this.spans.set(request, span);
    propagation.inject(trace.setSpan(parent, span), request, {
      set: (carrier, name, value) => {
        carrier.addHeader(name, value);
      },
    });
  };

  private readonly end = (message: unknown): void => {
    const { request, response } = message as FetchMessage;
    const span = this.spans.get(request);
    if (span === undefined) return;
    this.spans.delete(request);
    if (response === undefined) span.setStatus({ code: SpanStatusCode.ERROR });
    else span.setAttribute('http.response.status_code', response.statusCode);
    span.end();
  };
}
