import { ROOT_CONTEXT, type Span, SpanStatusCode } from '@opentelemetry/api';
import { Injectable, type OnModuleDestroy } from '@nestjs/common';
import { type Run, runChannel, summarize } from '../../mirror/synchronizer.js';
import { Tracing } from './tracing.js';

/** Creates a span for each synchronization run, with its outcome and the number of its changes. */
@Injectable()
export class SynchronizationSpans implements OnModuleDestroy {
  private readonly spans = new WeakMap<object, Span>();
  private readonly listeners = {
    start: (run: Run) => {
      const attributes = { 'directory.run.scope': run.scope };
      this.spans.set(run, this.tracing.tracer.startSpan('synchronization', { attributes }, ROOT_CONTEXT));
    },
    asyncEnd: (run: Run) => {
      const span = this.spans.get(run);
      if (span !== undefined) end(span, run);
    },
    end: () => undefined,
    asyncStart: () => undefined,
    error: () => undefined,
  };

  constructor(private readonly tracing: Tracing) {
    runChannel.subscribe(this.listeners);
  }

  onModuleDestroy(): void {
    runChannel.unsubscribe(this.listeners);
  }
}

function end(span: Span, { result }: Run): void {
  span.setAttribute('directory.run.outcome', result?.kind ?? 'failed');
  if (result?.kind === 'applied') {
    span.setAttributes({
      'directory.mirror.revision': result.revision.number,
      'directory.run.summary': summarize(result.counts),
    });
  }
  if (result === undefined || result.kind === 'blocked') {
    span.setStatus({ code: SpanStatusCode.ERROR });
  }
  span.end();
}
