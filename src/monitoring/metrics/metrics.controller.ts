import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import {
  Controller,
  Get,
  Header,
  Inject,
  Injectable,
  Logger,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
  Res,
} from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { FastifyReply } from 'fastify';
import { Public } from '../../auth/access.js';
import type { Config } from '../../config/config.js';
import { CONFIG } from '../../config/config.module.js';
import { MetricsRegistry } from './registry.js';

/** Limits of requests on the port of metrics, which have few clients. */
const LIMITS = { requestTimeout: 5000, headersTimeout: 5000, connectionsCheckingInterval: 1000 };
const MOST_CONNECTIONS = 100;

/** The media type of the Prometheus text format. */
const METRICS_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

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

/** Serves metrics on a separate port, which clients of the API need not be able to reach. */
@Injectable()
export class MetricsPort implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly logger = new Logger('Metrics');
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
    const server = createServer(LIMITS, (request, response) => {
      this.answer(request, response).catch((error: unknown) => {
        this.logger.error(error);
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

  private async answer({ method, url = '' }: IncomingMessage, response: ServerResponse): Promise<void> {
    const isFound = /^\/metrics(\?|$)/.test(url);
    if (!isFound || method !== 'GET') {
      response.writeHead(isFound ? 405 : 404, isFound ? { allow: 'GET' } : {}).end();
      return;
    }
    const headers = {
      'content-type': METRICS_TYPE,
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
    };
    response.writeHead(200, headers).end(await this.registry.text());
  }
}
