import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { Logger } from '@nestjs/common';
import type { MetricsConfig } from '../../config/settings/monitoring.js';

/** Milliseconds within which a request must arrive completely. */
const REQUEST_TIMEOUT_MS = 5000;
/** Maximum number of connections. Metrics have few clients. */
const MOST_CONNECTIONS = 100;

const logger = new Logger('Metrics');

/**
 * Opens a port that serves only `/metrics`.
 * @param read returns all metrics in the Prometheus text format, version 0.0.4
 * @throws Error of the system when the port cannot be opened
 */
export async function openMetricsServer(
  { port, host }: Extract<MetricsConfig, { kind: 'apart' }>,
  read: () => Promise<string>,
): Promise<Server> {
  const timeouts = {
    requestTimeout: REQUEST_TIMEOUT_MS,
    headersTimeout: REQUEST_TIMEOUT_MS,
    connectionsCheckingInterval: 1000,
  };
  const server = createServer(timeouts, (request, response) => {
    answer(request, response, read).catch((error: unknown) => {
      logger.error(error);
      response.writeHead(500).end();
    });
  });
  server.maxConnections = MOST_CONNECTIONS;
  server.listen(port, host);
  await once(server, 'listening');
  return server;
}

/** Closes the port and all its connections. */
export async function closeMetricsServer(server: Server): Promise<void> {
  const closed = once(server, 'close');
  server.close();
  server.closeAllConnections();
  await closed;
}

/** The media type of the Prometheus text format. */
export const METRICS_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

async function answer(
  { method, url = '' }: IncomingMessage,
  response: ServerResponse,
  read: () => Promise<string>,
): Promise<void> {
  const isAsked = /^\/metrics(\?|$)/.test(url);
  if (!isAsked || method !== 'GET') {
    response.writeHead(isAsked ? 405 : 404, isAsked ? { allow: 'GET' } : {}).end();
    return;
  }
  const text = await read();
  response
    .writeHead(200, {
      'content-type': METRICS_TYPE,
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
    })
    .end(text);
}
