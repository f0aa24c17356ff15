import {
  Controller,
  Get,
  Header,
  Res,
  Inject,
  Injectable,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
  Logger,
} from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { Public } from '../../auth/access.js';
import { MetricsRegistry } from './registry.js';
import { HttpAdapterHost } from '@nestjs/core';
import type { Config } from '../../config/config.js';
import { CONFIG } from '../../config/config.module.js';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';

/** Milliseconds within which a request must arrive completely. */
const REQUEST_TIMEOUT_MS = 5000;
/** Maximum number of connections. Metrics have few clients. */
const MOST_CONNECTIONS = 100;

const logger = new Logger('Metrics');

/** The media type of the Prometheus text format. */
const METRICS_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

async function answer(
  { method, url = '' }: IncomingMessage,
  response: ServerResponse,
  registry: MetricsRegistry,
): Promise<void> {
  const isAsked = /^\/metrics(\?|$)/.test(url);
  if (!isAsked || method !== 'GET') {
    response.writeHead(isAsked ? 405 : 404, isAsked ? { allow: 'GET' } : {}).end();
    return;
  }
  const text = await registry.text();
  response
    .writeHead(200, {
      'content-type': METRICS_TYPE,
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
    })
    .end(text);
}

/** Serves metrics on a separate port, which clients of the API need not be able to reach. */
@Injectable()
export class MetricsPort implements OnApplicationBootstrap, OnApplicationShutdown {
  private server: Server | null = null;

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    private readonly host: HttpAdapterHost,
    private readonly registry: MetricsRegistry,
  ) {}

  /** @throws Error of the system when the port cannot be opened */
  async onApplicationBootstrap(): Promise<void> {
    const { metrics } = this.config.monitoring;
    // The command line has no HTTP server.
    const adapter = this.host.httpAdapter as unknown;
    if (metrics?.kind !== 'apart' || !adapter) return;
    const timeouts = {
      requestTimeout: REQUEST_TIMEOUT_MS,
      headersTimeout: REQUEST_TIMEOUT_MS,
      connectionsCheckingInterval: 1000,
    };
    const server = createServer(timeouts, (request, response) => {
      answer(request, response, this.registry).catch((error: unknown) => {
        logger.error(error);
        response.writeHead(500).end();
      });
    });
    server.maxConnections = MOST_CONNECTIONS;
    server.listen(metrics.port, metrics.host);
    await once(server, 'listening');
    this.server = server;
  }

  async onApplicationShutdown(): Promise<void> {
    const { server } = this;
    if (server === null) return;
    const closed = once(server, 'close');
    server.close();
    server.closeAllConnections();
    await closed;
  }
}

/** Serves metrics on the port of the API. Used only where metrics need no protection from clients. */
@Public()
@Controller()
export class MetricsController {
  constructor(private readonly registry: MetricsRegistry) {}

  @Get('metrics')
  @Header('cache-control', 'no-store')
  async read(@Res() reply: FastifyReply): Promise<void> {
    const text = await this.registry.text();
    // Sent as bytes, because Fastify would add a second charset to text.
    await reply.type(METRICS_TYPE).send(Buffer.from(text));
  }
}
