import diagnosticsChannel from 'node:diagnostics_channel';
import { type Attributes, propagation, type Span, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import { Injectable, type OnModuleDestroy } from '@nestjs/common';
import { type SentStatement, statementChannel } from '../../database/statements/statement.js';
import { type IssuerRequest, requestChannel, responseChannel } from '../../auth/tokens/external-issuer.js';
import { contextBelow, currentTrace, Tracing } from './tracing.js';

/** Creates spans for SQL statements and for requests to the identity provider, if they belong to an incoming request. */
@Injectable()
export class OutgoingSpans implements OnModuleDestroy {
  private readonly spans = new WeakMap<object, Span>();
  private readonly listeners: readonly (readonly [
    channel: string | symbol,
    listener: (message: unknown) => void,
  ])[] = [
    [statementChannel.start.name, this.beginStatement.bind(this)],
    [statementChannel.asyncEnd.name, this.endStatement.bind(this)],
    [requestChannel.name, this.beginRequest.bind(this)],
    [responseChannel.name, this.endRequest.bind(this)],
  ];

  constructor(private readonly tracing: Tracing) {
    for (const [channel, listener] of this.listeners) diagnosticsChannel.subscribe(channel, listener);
  }

  onModuleDestroy(): void {
    for (const [channel, listener] of this.listeners) diagnosticsChannel.unsubscribe(channel, listener);
  }

  private begin(key: object, name: string, attributes: Attributes): Span | undefined {
    const requestTrace = currentTrace();
    if (requestTrace === undefined) return undefined;
    const options = { kind: SpanKind.CLIENT, attributes };
    const span = this.tracing.tracer.startSpan(name, options, contextBelow(requestTrace));
    this.spans.set(key, span);
    return span;
  }

  private end(key: object, hasFailed: boolean): void {
    const span = this.spans.get(key);
    this.spans.delete(key);
    if (hasFailed) span?.setStatus({ code: SpanStatusCode.ERROR });
    span?.end();
  }

  private beginStatement(message: unknown): void {
    const sent = message as SentStatement;
    this.begin(sent, titleOf(sent.text), {
      'db.system.name': 'postgresql',
      'db.query.text': sent.text, // Contains no values.
      'directory.statement': sent.name,
    });
  }

  private endStatement(message: unknown): void {
    const sent = message as SentStatement;
    this.end(sent, sent.error !== undefined);
  }

  private beginRequest(message: unknown): void {
    const sent = message as IssuerRequest;
    const span = this.begin(sent, `${sent.method} identity provider`, {
      'http.request.method': sent.method,
      'server.address': sent.url.host,
    });
    const requestTrace = currentTrace();
    if (span === undefined || requestTrace === undefined) return;
    propagation.inject(trace.setSpan(contextBelow(requestTrace), span), sent.headers);
  }

  private endRequest(message: unknown): void {
    const sent = message as IssuerRequest;
    if (sent.status !== undefined)
      this.spans.get(sent)?.setAttribute('http.response.status_code', sent.status);
    this.end(sent, sent.status === undefined);
  }
}

/** Returns the verb of the statement and its first table. */
function titleOf(text: string): string {
  const [verb = 'statement'] = /\w+/.exec(text) ?? [];
  const [, table] = /\b(?:from|update|into)\s+([a-z_]+)/.exec(text) ?? [];
  return table === undefined ? verb : `${verb} ${table}`;
}
