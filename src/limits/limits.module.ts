import { Global, Inject, Module, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { Config } from '../config/config.js';
import type { RedisConfig } from '../config/settings/redis.js';
import { CONFIG } from '../config/config.module.js';
import { FailedLogins, WrongCodes } from './failed-logins.js';
import { Limits, SHARED_COUNTS } from './limits.js';
import type { SharedCounts } from './shared-counts.js';

/** Limits by principal and address, in this process or shared by all processes. */
@Global()
@Module({
  providers: [
    {
      provide: SHARED_COUNTS,
      inject: [CONFIG],
      useFactory: ({ redis }: Config) => (redis === null ? null : openSharedCounts(redis)),
    },
    Limits,
    FailedLogins,
    WrongCodes,
  ],
  exports: [FailedLogins, Limits, WrongCodes],
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

/** A dynamic import, because the client of Redis takes a tenth of a second to load. */
async function openSharedCounts(config: RedisConfig): Promise<SharedCounts> {
  const { SharedCounts } = await import('./shared-counts.js');
  return new SharedCounts(config);
}
