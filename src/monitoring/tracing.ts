import { Logger } from '@nestjs/common';
import { api, NodeSDK, resources } from '@opentelemetry/sdk-node';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { Incident } from '../common/incident.js';
import { readBuild } from '../config/build.js';
import type { Config } from '../config/config.js';
import { type SentStatement, statementChannel } from '../database/statements/statement.js';
import { PROBE_ROUTES } from '../health/health.controller.js';
import { costOf } from './request-watch.js';

const { context, propagation, ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } = api;

/**
 * Records spans of requests and of their statements until Fastify closes. The SDK of OpenTelemetry reads its own environment variables
 * (exporter, endpoint, sampler).
 */
export function startTracing({ monitoring }: Config, fastify: FastifyInstance): void {
  const { version } = readBuild();
  logProblemsOnce(new Logger('Tracing'));
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
  traceRequests(tracer, fastify);
  const endStatements = traceStatements(tracer);
  fastify.addHook('onClose', async () => {
    endStatements();
    await sdk.shutdown().catch(() => undefined);
    // The service may start again in this process.
    for (const each of [trace, context, propagation, api.diag]) each.disable();
  });
}

/** Each problem once, because an unavailable collector fails for every batch. */
function logProblemsOnce(logger: Logger): void {
  const incident = new Incident(logger);
  const report = (message: string) => {
    const [line = ''] = /(?<="message":")[^"\\]*/.exec(message) ?? message.split('\n');
    incident.note(`Traces: ${line}`);
  };
  const ignore = () => undefined;
  api.diag.setLogger(
    { error: report, warn: report, info: ignore, debug: ignore, verbose: ignore },
    { logLevel: api.DiagLogLevel.WARN, suppressOverrideMessage: true },
  );
}

/**
 * A span for each request, below the span that the client names (W3C Trace Context). It has only the route of the URL, because
 * the rest may contain any value. Probes have none.
 */
function traceRequests(tracer: api.Tracer, fastify: FastifyInstance): void {
  const contexts = new WeakMap<FastifyRequest, api.Context>();
  fastify.addHook('onRequest', (request, reply, done) => {
    const route = request.is404 ? null : (request.routeOptions.url ?? null);
    if (PROBE_ROUTES.has(route ?? '')) {
      done();
      return;
    }
    const { method, id } = request;
    const name = route === null ? method : `${method} ${route}`;
    const attributes = {
      'http.request.method': method,
      ...(route === null ? {} : { 'http.route': route }),
      'directory.request.id': id,
    };
    const parent = propagation.extract(ROOT_CONTEXT, request.headers);
    const span = tracer.startSpan(name, { kind: SpanKind.SERVER, attributes }, parent);
    request.traceId = span.spanContext().traceId;
    // The event also occurs when the client has closed the connection.
    reply.raw.once('close', () => {
      endRequest(span, request, reply);
    });
    const own = trace.setSpan(parent, span);
    contexts.set(request, own);
    context.with(own, done);
  });
  // Callbacks of body parsing run in the context of the socket, which belongs to no request.
  fastify.addHook('preHandler', (request, _reply, done) => {
    context.with(contexts.get(request) ?? ROOT_CONTEXT, done);
  });
}

function endRequest(span: api.Span, request: FastifyRequest, { statusCode }: FastifyReply): void {
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

/** A span for each statement of a request. Its text has no values. Returns the function that ends this. */
function traceStatements(tracer: api.Tracer): () => void {
  const spans = new WeakMap<SentStatement, api.Span>();
  const ignore = () => undefined;
  const listeners = {
    start: (sent: SentStatement) => {
      if (trace.getActiveSpan() === undefined) return;
      const { text, name } = sent;
      const [verb = 'statement'] = /\w+/.exec(text) ?? [];
      const [, table] = /\b(?:from|update|into)\s+([a-z_]+)/.exec(text) ?? [];
      const attributes = {
        'db.system.name': 'postgresql',
        'db.query.text': text,
        'directory.statement': name,
      };
      const title = table === undefined ? verb : `${verb} ${table}`;
      spans.set(sent, tracer.startSpan(title, { kind: SpanKind.CLIENT, attributes }));
    },
    asyncEnd: (sent: SentStatement) => {
      const span = spans.get(sent);
      if (sent.error !== undefined) span?.setStatus({ code: SpanStatusCode.ERROR });
      span?.end();
    },
    end: ignore,
    asyncStart: ignore,
    error: ignore,
  };
  statementChannel.subscribe(listeners);
  return () => {
    statementChannel.unsubscribe(listeners);
  };
}
