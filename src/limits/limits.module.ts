import { Global, Inject, Module, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { Config } from '../config/config.js';
import { CONFIG } from '../config/config.module.js';
import { FailedLogins } from './failed-logins.js';
import { Limits } from './limits.js';
import { SharedCounts } from './shared-counts.js';

/** How much of what may be taken by whom, in this process or in all of them. */
@Global()
@Module({
  providers: [
    {
      provide: SharedCounts,
      inject: [CONFIG],
      useFactory: ({ redis }: Config) => (redis === null ? null : new SharedCounts(redis)),
    },
    Limits,
    FailedLogins,
  ],
  exports: [FailedLogins, Limits, SharedCounts],
})
export class LimitsModule implements OnModuleInit, OnApplicationShutdown {
  constructor(
    @Inject(SharedCounts) private readonly shared: SharedCounts | null,
    private readonly adapterHost: HttpAdapterHost,
  ) {}

  async onModuleInit(): Promise<void> {
    // Commands take from no limit.
    const { httpAdapter } = this.adapterHost as Partial<HttpAdapterHost>;
    if (httpAdapter !== undefined) await this.shared?.start();
  }

  onApplicationShutdown(): void {
    this.shared?.stop();
  }
}
