import diagnosticsChannel from 'node:diagnostics_channel';
import { type Span, SpanKind, SpanStatusCode } from '@opentelemetry/api';
import { Injectable, type OnModuleDestroy } from '@nestjs/common';
import {
  answeredChannel,
  type SentStatement,
  statementChannel,
} from '../../database/statements/statement.js';
import { contextBelow, currentTrace } from './request-trace.js';
import { Tracing } from './tracing.js';

/**
 * Creates a span for each SQL statement of a request, with its name and its text, which contains no values.
 */
@Injectable()
export class StatementSpans implements OnModuleDestroy {
  private readonly spans = new WeakMap<SentStatement, Span>();

  constructor(private readonly tracing: Tracing) {
    diagnosticsChannel.subscribe(statementChannel.name, this.begin);
    diagnosticsChannel.subscribe(answeredChannel.name, this.end);
  }

  onModuleDestroy(): void {
    diagnosticsChannel.unsubscribe(statementChannel.name, this.begin);
    diagnosticsChannel.unsubscribe(answeredChannel.name, this.end);
  }

  private readonly begin = (message: unknown): void => {
    const requestTrace = currentTrace();
    if (requestTrace === undefined) return;
    const sent = message as SentStatement;
    const span = this.tracing.tracer.startSpan(
      titleOf(sent.text),
      {
        kind: SpanKind.CLIENT,
        attributes: {
          'db.system.name': 'postgresql',
          'db.query.text': sent.text,
          'directory.statement': sent.name,
        },
      },
      contextBelow(requestTrace),
    );
    this.spans.set(sent, span);
  };

  private readonly end = (message: unknown): void => {
    const sent = message as SentStatement;
    const span = this.spans.get(sent);
    if (sent.hasFailed) span?.setStatus({ code: SpanStatusCode.ERROR });
    span?.end();
  };
}

/** Returns the verb of the statement and its first table. */
function titleOf(text: string): string {
  const [verb = 'statement'] = /\w+/.exec(text) ?? [];
  const [, table] = /\b(?:from|update|into)\s+([a-z_]+)/.exec(text) ?? [];
  return table === undefined ? verb : `${verb} ${table}`;
}
