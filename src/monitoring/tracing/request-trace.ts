import { type Context, context, createContextKey, type Span, trace } from '@opentelemetry/api';

export interface RequestTrace {
  readonly request: Span;
  /** Null before the operation starts. */
  operation: Span | null;
}

const KEY = createContextKey('The trace of the current request');

export function contextOf(requestTrace: RequestTrace, parent: Context): Context {
  return trace.setSpan(parent, requestTrace.request).setValue(KEY, requestTrace);
}

/** Returns the request of the present asynchronous context. Undefined: there is none. */
export function currentTrace(): RequestTrace | undefined {
  return context.active().getValue(KEY) as RequestTrace | undefined;
}

/** Returns the context for a child span of the operation, or of the request before the operation starts. */
export function contextBelow({ request, operation }: RequestTrace): Context {
  return trace.setSpan(context.active(), operation ?? request);
}
