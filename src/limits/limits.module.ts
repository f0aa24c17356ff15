import { Global, Module } from '@nestjs/common';
import type { Config } from '../config/config.js';
import { CONFIG } from '../config/config.module.js';
import { FailedLogins, Limits } from './limits.js';
import { SharedCounts } from './shared-counts.js';

/** Limits by principal and address, in this process or shared by all processes. */
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
export class LimitsModule {}
