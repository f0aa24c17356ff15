import { type DynamicModule, Module } from '@nestjs/common';
import { AuthModule } from '../auth/auth.module.js';
import { ChangesModule } from '../changes/changes.module.js';
import type { Config } from '../config/config.js';
import { CONFIG } from '../config/config.module.js';
import { GraphQLModule } from '../graphql/graphql.module.js';
import { MediaModule } from '../media/media.module.js';
import { MirrorModule } from '../mirror/mirror.module.js';
import { MetricsController, MetricsPort } from './metrics/metrics.controller.js';
import { type MetricGroup, MetricsRegistry } from './metrics/registry.js';
import { RequestMetrics } from './metrics/request-metrics.js';
import { CacheMetrics, DatabaseMetrics, MirrorMetrics, WebhookMetrics } from './metrics/state-metrics.js';
import { RequestWatch } from './request-watch.js';

/** In the order of docs/monitoring.md. */
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

/** Monitoring of the service: request lines in the log, and metrics. */
@Module({ imports: [AuthModule, ChangesModule, GraphQLModule, MediaModule, MirrorModule] })
export class MonitoringModule {
  static forRoot({ monitoring: { metrics } }: Config): DynamicModule {
    return {
      module: MonitoringModule,
      controllers: metrics?.kind === 'beside' ? [MetricsController] : [],
      providers: [RequestWatch, ...(metrics === null ? [] : METRICS)],
    };
  }
}
