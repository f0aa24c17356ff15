import type { RequestListener } from 'node:http';
import type { FastifyInstance } from 'fastify';
import { ServiceUnavailableError } from '../common/errors.js';
import type { Config } from '../config/config.js';
import { HttpAdapter } from '../http/http-adapter.js';
import type { RejectionForm } from '../http/rejection.js';
import { BUILD_METRIC } from '../monitoring/metrics/metric.js';
import { DATABASE_UP_METRIC } from '../monitoring/metrics/mirror-metrics.js';

const DOWN = { database: { status: 'down' } };

/** Builds the server for a start that waits for the database: alive, not ready, and 503 for all other requests (docs/http.md). */
export async function buildStartupServer(
  config: Config,
  forms: readonly RejectionForm[],
): Promise<RequestListener> {
  const fastify = new HttpAdapter(config, forms).getInstance<FastifyInstance>();
  fastify.get('/_health', (_request, reply) =>
    reply.header('cache-control', 'no-store').send({ status: 'ok' }),
  );
  fastify.get('/_readiness', (_request, reply) =>
    reply
      .code(503)
      .headers({ 'cache-control': 'no-store', 'retry-after': '1' })
      .send({ status: 'error', info: {}, error: DOWN, details: DOWN }),
  );
  fastify.addHook('onRequest', ({ is404 }, _reply, done) => {
    done(is404 ? new ServiceUnavailableError('The database cannot be reached at the moment') : undefined);
  });
  await fastify.ready();
  return (request, response) => {
    fastify.routing(request, response);
  };
}

/** Returns the metrics while the start waits for the database: the process runs, and the database is unavailable. */
export async function readStartupMetrics({ monitoring }: Config): Promise<string> {
  const { MetricsRegistry } = await import('../monitoring/metrics/registry.js');
  return new MetricsRegistry([DATABASE_UP_METRIC, BUILD_METRIC], monitoring.serviceName).text(null);
}
