import {
  type DynamicModule,
  Global,
  Inject,
  Module,
  type OnApplicationShutdown,
  type OnModuleInit,
} from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { Config } from '../config/config.js';
import type { RedisConfig } from '../config/settings/redis.js';
import { CONFIG } from '../config/config.module.js';
import { FailedLogins, WrongCodes } from './failed-logins.js';
import { Limits, SHARED_COUNTS, WORKER_COUNTS } from './limits.js';
import type { SharedCounts } from './shared-counts.js';
import type { WorkerCounts } from './worker-counts.js';

/** Limits by principal and address, in this process or shared by all processes. */
@Global()
@Module({})
export class LimitsModule implements OnModuleInit, OnApplicationShutdown {
  /** @param ofWorkers the counts that all workers of this service share without Redis; null: there is one process */
  static forRoot(ofWorkers: WorkerCounts | null): DynamicModule {
    return {
      module: LimitsModule,
      providers: [
        {
          provide: SHARED_COUNTS,
          inject: [CONFIG],
          useFactory: ({ redis }: Config) => (redis === null ? null : openSharedCounts(redis)),
        },
        { provide: WORKER_COUNTS, useValue: ofWorkers },
        Limits,
        FailedLogins,
        WrongCodes,
      ],
      exports: [FailedLogins, Limits, SHARED_COUNTS, WrongCodes],
    };
  }

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
