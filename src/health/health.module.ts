import { Module } from '@nestjs/common';
import { TerminusModule } from '@nestjs/terminus';
import { MirrorModule } from '../mirror/mirror.module.js';
import { BuildInfoResolver } from './build-info.resolver.js';
import { DatabaseIndicator } from './database.indicator.js';
import { HealthController } from './health.controller.js';
import { IssuerIndicator } from './issuer.indicator.js';
import { MirrorIndicator } from './mirror.indicator.js';
import { RedisIndicator } from './redis.indicator.js';
import { ShutdownIndicator } from './shutdown.indicator.js';

@Module({
  imports: [TerminusModule.forRoot({ logger: false }), MirrorModule],
  controllers: [HealthController],
  providers: [
    BuildInfoResolver,
    DatabaseIndicator,
    IssuerIndicator,
    MirrorIndicator,
    RedisIndicator,
    ShutdownIndicator,
  ],
})
export class HealthModule {}
