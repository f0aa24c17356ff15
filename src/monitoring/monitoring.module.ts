import { type DynamicModule, Module } from '@nestjs/common';
import { AuthModule } from '../auth/auth.module.js';
import type { Config } from '../config/config.js';
import { GraphQLModule } from '../graphql/graphql.module.js';
import { LimitsModule } from '../limits/limits.module.js';
import { MediaModule } from '../media/media.module.js';
import { MirrorModule } from '../mirror/mirror.module.js';
import { CacheMetrics, DatabaseMetrics } from './metrics/resource-metrics.js';
import { MetricsController, MetricsPort } from './metrics/metrics.controller.js';
import { MetricsService } from './metrics/metrics.service.js';
import { MirrorMetrics } from './metrics/mirror-metrics.js';
import { RequestCounts, RequestMetrics } from './metrics/request-metrics.js';
import { RequestWatch } from './request-watch.js';

const METRICS = [CacheMetrics, DatabaseMetrics, MetricsPort, MetricsService, MirrorMetrics, RequestMetrics];

/** Monitoring of the service: request lines in the log, metrics, and traces. */
@Module({})
export class MonitoringModule {
  static forRoot({ monitoring: { metrics, traces } }: Config): DynamicModule {
    return {
      module: MonitoringModule,
      imports: [
        AuthModule,
        GraphQLModule,
        LimitsModule,
        MediaModule,
        MirrorModule,
        ...(traces === null ? [] : [loadTracing()]),
      ],
      controllers: metrics?.kind === 'beside' ? [MetricsController] : [],
      providers: [RequestCounts, RequestWatch, ...(metrics === null ? [] : METRICS)],
    };
  }
}

/** Loads tracing only where it is configured, because its libraries take a quarter of a second to load. */
async function loadTracing(): Promise<DynamicModule> {
  const { TracingModule } = await import('./tracing/tracing.module.js');
  return { module: TracingModule };
}
