import { Module } from '@nestjs/common';
import { TerminusModule } from '@nestjs/terminus';
import { MirrorModule } from '../mirror/mirror.module.js';
import { BuildInfoResolver } from './build-info.js';
import { HealthController } from './health.controller.js';
import { Indicators } from './indicators.js';

@Module({
  imports: [TerminusModule.forRoot({ logger: false }), MirrorModule],
  controllers: [HealthController],
  providers: [BuildInfoResolver, Indicators],
})
export class HealthModule {}
