import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import {
  Controller,
  Get,
  Inject,
  Injectable,
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

/** Metrics have few clients. */
const MOST_CONNECTIONS = 100;

const HEADERS = {
  // Of the Prometheus text format.
  'content-type': 'text/plain; version=0.0.4; charset=utf-8',
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
};

/** Serves metrics on the port of the API. Used only where metrics need no protection from clients. */
@Public()
@Controller()
export class MetricsController {
  constructor(private readonly registry: MetricsRegistry) {}

  @Get('metrics')
  async read(@Res() reply: FastifyReply): Promise<void> {
    const text = await this.registry.text();
    // Sent as bytes, because Fastify would add a second charset to text.
    await reply.headers(HEADERS).send(Buffer.from(text));
  }
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
    this.server = createServer(({ method, url = '' }, response) => {
      if (!/^\/metrics(\?|$)/.test(url)) response.writeHead(404).end();
      else if (method !== 'GET') response.writeHead(405, { allow: 'GET' }).end();
      else
        this.registry.text().then(
          (text) => response.writeHead(200, HEADERS).end(text),
          () => response.writeHead(500).end(),
        );
    });
    this.server.maxConnections = MOST_CONNECTIONS;
    this.server.listen(metrics.port, metrics.host);
    await once(this.server, 'listening');
  }

  onApplicationShutdown(): void {
    this.server?.close();
    this.server?.closeAllConnections();
  }
}
