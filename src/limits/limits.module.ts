import cluster from 'node:cluster';
import { Global, Inject, Module, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { Config } from '../config/config.js';
import { CONFIG } from '../config/config.module.js';
import { FailedLogins } from './failed-logins.js';
import { CLUSTER_COUNTS, Limits, SHARED_COUNTS } from './limits.js';
import type { SharedCounts } from './shared-counts.js';

/** Limits by principal and address, in this process or shared by all processes. */
@Global()
@Module({
  providers: [
    // Dynamic imports, because the client of Redis takes a tenth of a second to load.
    {
      provide: SHARED_COUNTS,
      inject: [CONFIG],
      useFactory: async ({ redis }: Config) =>
        redis === null ? null : new (await import('./shared-counts.js')).SharedCounts(redis),
    },
    {
      provide: CLUSTER_COUNTS,
      inject: [CONFIG],
      useFactory: async ({ redis }: Config) =>
        cluster.isWorker && redis === null ? new (await import('./cluster-counts.js')).ClusterCounts() : null,
    },
    Limits,
    FailedLogins,
  ],
  exports: [FailedLogins, Limits, SHARED_COUNTS],
})
export class LimitsModule implements OnModuleInit, OnApplicationShutdown {
  constructor(
    @Inject(SHARED_COUNTS) private readonly shared: SharedCounts | null,
    private readonly adapterHost: HttpAdapterHost,
  ) {}

  async onModuleInit(): Promise<void> {
    // Commands have no HTTP adapter and no limits.
    const { httpAdapter } = this.adapterHost as Partial<HttpAdapterHost>;
    if (httpAdapter !== undefined) await this.shared?.start();
  }

  onApplicationShutdown(): void {
    this.shared?.stop();
  }
}
