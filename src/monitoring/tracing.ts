import { api, NodeSDK, resources } from '@opentelemetry/sdk-node';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { readBuild } from '../config/build.js';
import type { Config } from '../config/config.js';
import { PROBE_ROUTES } from '../health/health.controller.js';
import { costOf } from './metrics/request-metrics.js';

const { context, propagation, ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } = api;

/**
 * Records a span of each request until Fastify closes, except for probes. The SDK of OpenTelemetry reads its own environment variables
 * (exporter, endpoint, sampler, log level).
 */
export function startTracing({ monitoring }: Config, fastify: FastifyInstance): void {
  const { version } = readBuild();
  const sdk = new NodeSDK({
    ...(monitoring.traces === null ? {} : { serviceName: monitoring.traces.serviceName }),
    resource: resources.resourceFromAttributes({ 'service.version': version }),
    // Others would disclose properties of the machine and the command line. The id of the instance is random.
    resourceDetectors: [resources.serviceInstanceIdDetector, resources.envDetector],
    instrumentations: [],
    metricReaders: [],
    logRecordProcessors: [],
  });
  sdk.start();
  const tracer = trace.getTracer('directory-service', version);
  fastify.addHook('onRequest', (request, reply, done) => {
    const span = PROBE_ROUTES.has(request.routeOptions.url ?? '') ? null : startSpan(tracer, request);
    // The event also occurs when the client has closed the connection.
    reply.raw.once('close', () => {
      if (span !== null) endSpan(span, request, reply);
    });
    done();
  });
  fastify.addHook('onClose', async () => {
    await sdk.shutdown().catch(() => undefined);
    // The service may start again in this process.
    for (const each of [trace, context, propagation]) each.disable();
  });
}

/** Below the span that the client names (W3C Trace Context). It has only the route of the URL, because the rest may contain any value. */
function startSpan(tracer: api.Tracer, request: FastifyRequest): api.Span {
  const { method, id, is404, routeOptions } = request;
  const route = is404 ? undefined : routeOptions.url;
  const attributes = { 'http.request.method': method, 'http.route': route, 'directory.request.id': id };
  const parent = propagation.extract(ROOT_CONTEXT, request.headers);
  const name = route === undefined ? method : `${method} ${route}`;
  const span = tracer.startSpan(name, { kind: SpanKind.SERVER, attributes }, parent);
  request.traceId = span.spanContext().traceId;
  return span;
}

function endSpan(span: api.Span, request: FastifyRequest, { statusCode }: FastifyReply): void {
  span.setAttribute('http.response.status_code', statusCode);
  if (statusCode >= 500) span.setStatus({ code: SpanStatusCode.ERROR });
  const { operation } = request;
  if (operation !== null) {
    const { type, name, field } = operation;
    span.setAttributes({ 'graphql.operation.type': type, 'directory.operation.field': field });
    if (name !== null) span.setAttribute('graphql.operation.name', name);
    const cost = costOf(request);
    if (cost !== null) span.setAttribute('directory.operation.cost', cost);
  }
  span.end();
}
