import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import {
  Inject,
  Injectable,
  Logger,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
} from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { Config } from '../config/config.js';
import { CONFIG } from '../config/config.module.js';
import { MetricsService } from './metrics.service.js';

/** Milliseconds in which a request has to be there. */
const PATIENCE = 5000;

/** Metrics on a port of their own, which need not be reached from where clients are. */
@Injectable()
export class MetricsServer implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly logger = new Logger('Metrics');
  private server: Server | null = null;

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    private readonly host: HttpAdapterHost,
    private readonly metrics: MetricsService,
  ) {}

  /** @throws Error of the system when it cannot listen */
  async onApplicationBootstrap(): Promise<void> {
    const { metrics } = this.config.monitoring;
    // The command line has nothing that listens.
    const adapter = this.host.httpAdapter as unknown;
    if (metrics?.kind !== 'apart' || !adapter) return;
    const server = createServer(
      { requestTimeout: PATIENCE, headersTimeout: PATIENCE },
      (request, response) => {
        this.answer(request, response).catch((error: unknown) => {
          this.logger.error(error);
          response.writeHead(500).end();
        });
      },
    );
    server.listen(metrics.port, metrics.host);
    await once(server, 'listening');
    this.server = server;
    await this.metrics.begin();
  }

  onApplicationShutdown(): void {
    this.server?.close();
    this.server?.closeAllConnections();
  }

  private async answer({ method, url = '' }: IncomingMessage, response: ServerResponse): Promise<void> {
    const isAsked = /^\/metrics(\?|$)/.test(url);
    if (!isAsked || method !== 'GET') {
      response.writeHead(isAsked ? 405 : 404, isAsked ? { allow: 'GET' } : {}).end();
      return;
    }
    const text = await this.metrics.text();
    response
      .writeHead(200, {
        'content-type': this.metrics.contentType,
        'cache-control': 'no-store',
        'x-content-type-options': 'nosniff',
      })
      .end(text);
  }
}
