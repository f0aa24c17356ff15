import { type Context, context, createContextKey, type Span, trace } from '@opentelemetry/api';

/** The spans of one request that others are below. */
export interface RequestTrace {
  readonly request: Span;
  /** Null while there is none. */
  operation: Span | null;
}

const KEY = createContextKey('The trace of the request that is being answered');

/** The context in which whatever happens belongs to the request. */
export function contextOf(requestTrace: RequestTrace, parent: Context): Context {
  return trace.setSpan(parent, requestTrace.request).setValue(KEY, requestTrace);
}

/** The request that this happens for; undefined: none. */
export function currentTrace(): RequestTrace | undefined {
  return context.active().getValue(KEY) as RequestTrace | undefined;
}

/** Where a new span of a request belongs: below its operation, once there is one. */
export function contextBelow({ request, operation }: RequestTrace): Context {
  return trace.setSpan(context.active(), operation ?? request);
}
