import { Module } from '@nestjs/common';
import { TerminusModule } from '@nestjs/terminus';
import type { Config } from '../config/config.js';
import { CONFIG } from '../config/config.module.js';
import { MirrorModule } from '../mirror/mirror.module.js';
import { BuildInfoResolver } from './build-info.js';
import {
  DatabaseIndicator,
  ProcessIndicator,
  MirrorIndicator,
  IdentityProviderIndicator,
  RedisIndicator,
} from './indicators.js';
import { HealthController, READINESS_CHECKS, type ReadinessCheck, SharedCheck } from './health.controller.js';

/**
 * What readiness depends on; indicators.ts has the rule of each. Shutdown, database and mirror can fail it; issuer and Redis
 * only report.
 */
const INDICATORS = [
  ProcessIndicator,
  DatabaseIndicator,
  MirrorIndicator,
  IdentityProviderIndicator,
  RedisIndicator,
];

@Module({
  imports: [TerminusModule.forRoot({ logger: false }), MirrorModule],
  controllers: [HealthController],
  providers: [
    BuildInfoResolver,
    ...INDICATORS,
    {
      provide: READINESS_CHECKS,
      inject: [CONFIG, ...INDICATORS],
      useFactory: ({ redis }: Config, ...checks: ReadinessCheck[]) =>
        checks
          .filter((each) => redis !== null || !(each instanceof RedisIndicator))
          // The end of the process is shown at once.
          .map((each) => (each instanceof ProcessIndicator ? each : new SharedCheck(each))),
    },
  ],
})
export class HealthModule {}
