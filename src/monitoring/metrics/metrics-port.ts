import { Inject, Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { Config } from '../../config/config.js';
import { CONFIG } from '../../config/config.module.js';
import { MetricsServer } from './metrics-server.js';
import { MetricsService } from './metrics.service.js';

/** Serves metrics on a separate port, which clients of the API need not be able to reach. */
@Injectable()
export class MetricsPort implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly server = new MetricsServer();

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    private readonly host: HttpAdapterHost,
    private readonly metrics: MetricsService,
  ) {}

  /** @throws Error of the system when the port cannot be opened */
  async onApplicationBootstrap(): Promise<void> {
    const { metrics } = this.config.monitoring;
    // The command line has no HTTP server.
    const adapter = this.host.httpAdapter as unknown;
    if (metrics?.kind !== 'apart' || !adapter) return;
    await this.server.open(metrics, () => this.metrics.text());
    await this.metrics.begin();
  }

  onApplicationShutdown(): Promise<void> {
    return this.server.close();
  }
}
