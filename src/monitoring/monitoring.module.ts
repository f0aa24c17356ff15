import { type DynamicModule, Module } from '@nestjs/common';
import { AuthModule } from '../auth/auth.module.js';
import { ChangesModule } from '../changes/changes.module.js';
import type { Config } from '../config/config.js';
import { GraphQLModule } from '../graphql/graphql.module.js';
import { MediaModule } from '../media/media.module.js';
import { MirrorModule } from '../mirror/mirror.module.js';
import { CacheMetrics, DatabaseMetrics, WebhookMetrics } from './metrics/resource-metrics.js';
import { MetricsController, MetricsPort } from './metrics/metrics.controller.js';
import { type MetricGroup, MetricsRegistry } from './metrics/registry.js';
import { CONFIG } from '../config/config.module.js';
import { MirrorMetrics } from './metrics/mirror-metrics.js';
import { RequestMetrics } from './metrics/request-metrics.js';
import { RequestWatch } from './request-watch.js';

/** In the order of docs/operations.md. */
const GROUPS = [RequestMetrics, CacheMetrics, DatabaseMetrics, MirrorMetrics, WebhookMetrics];
const METRICS = [
  ...GROUPS,
  {
    provide: MetricsRegistry,
    inject: [CONFIG, ...GROUPS],
    useFactory: ({ monitoring }: Config, ...groups: MetricGroup[]) =>
      new MetricsRegistry(monitoring.serviceName, groups),
  },
  MetricsPort,
];

/** Monitoring of the service: request lines in the log, metrics and traces. */
@Module({})
export class MonitoringModule {
  static forRoot({ monitoring: { metrics, traces } }: Config): DynamicModule {
    return {
      module: MonitoringModule,
      imports: [
        AuthModule,
        ChangesModule,
        GraphQLModule,
        MediaModule,
        MirrorModule,
        ...(traces === null ? [] : [loadTracing()]),
      ],
      controllers: metrics?.kind === 'beside' ? [MetricsController] : [],
      providers: [RequestWatch, ...(metrics === null ? [] : METRICS)],
    };
  }
}

/** Loads tracing only where it is configured, because its libraries take a quarter of a second to load. */
async function loadTracing(): Promise<DynamicModule> {
  const { TracingModule } = await import('./tracing/tracing.module.js');
  return { module: TracingModule };
}
