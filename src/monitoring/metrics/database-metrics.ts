import { Inject, Injectable, Optional } from '@nestjs/common';
import type pg from 'pg';
import { DataSource } from 'typeorm';
import type { DirectoryDataSource } from '../../database/connections/data-source.js';
import { Replicas } from '../../database/connections/replicas.js';
import { SessionGuard } from '../../database/connections/pooler-guard.js';
import { Limits } from '../../limits/limits.js';
import type { GaugeReading, LabelledValue, MetricGroup, Metrics } from './metric-group.js';

/** A connection pool, and the server and purpose that it belongs to. */
interface NamedPool {
  readonly server: string;
  readonly use: 'reads' | 'previews';
  readonly pool: pg.Pool;
}

/** Metrics of the connections to PostgreSQL and of the replication state of read replicas. */
@Injectable()
export class DatabaseMetrics implements MetricGroup {
  private connections!: GaugeReading;
  private connectionsLimit!: GaugeReading;
  private waiting!: GaugeReading;
  private lag!: GaugeReading;
  private replicaUp!: GaugeReading;
  private limitsShared!: GaugeReading;
  private sessionsKept!: GaugeReading;

  constructor(
    @Inject(DataSource) private readonly dataSource: DirectoryDataSource,
    @Optional() @Inject(Replicas) private readonly replicas: Replicas | null,
    private readonly limits: Limits,
    private readonly sessions: SessionGuard,
  ) {}

  register(metrics: Metrics): void {
    const labels = ['server', 'use'];
    this.connections = metrics.gauge('directory_database_connections', 'Connections that are open', [
      ...labels,
      'state',
    ]);
    this.connectionsLimit = metrics.gauge(
      'directory_database_connections_limit',
      'Connections that may be open',
      labels,
    );
    this.waiting = metrics.gauge(
      'directory_database_waiting',
      'Readers and previews that wait for a connection',
      labels,
    );
    this.replicaUp = metrics.gauge(
      'directory_replica_up',
      'Whether the read replica is well, and asked for what it has',
      ['server'],
    );
    this.lag = metrics.gauge(
      'directory_replica_lag_revisions',
      'Revisions that the read replica does not have yet',
      ['server'],
    );
    this.sessionsKept = metrics.gauge(
      'directory_database_sessions_kept',
      'Whether connections keep their session: 0 behind a pooler that shares sessions',
      ['server'],
    );
    this.limitsShared = metrics.gauge(
      'directory_limits_shared',
      'Whether limits are shared with other processes at the moment',
    );
  }

  update(): void {
    const pools = this.pools();
    this.connections.take(
      pools.flatMap(({ pool, ...labels }): LabelledValue[] => [
        [{ ...labels, state: 'used' }, pool.totalCount - pool.idleCount],
        [{ ...labels, state: 'idle' }, pool.idleCount],
      ]),
    );
    this.connectionsLimit.take(pools.map(({ pool, ...labels }) => [labels, pool.options.max]));
    this.waiting.take(pools.map(({ pool, ...labels }) => [labels, pool.waitingCount]));
    const { needed = null, each = [] } = this.replicas?.standing ?? {};
    this.replicaUp.take(each.map(({ host, revision }) => [{ server: host }, revision === null ? 0 : 1]));
    this.lag.take(
      each.flatMap(({ host, revision }): LabelledValue[] =>
        needed === null || revision === null
          ? []
          : [[{ server: host }, Math.max(0, needed.number - revision.number)]],
      ),
    );
    this.sessionsKept.take(
      this.sessions.standing.flatMap(({ server, isShared }): LabelledValue[] =>
        isShared === null ? [] : [[{ server }, isShared ? 0 : 1]],
      ),
    );
    this.limitsShared.set(this.limits.isShared ? 1 : 0);
  }

  private pools(): NamedPool[] {
    // The data source is closed while the service shuts down.
    if (!this.dataSource.isInitialized) return [];
    const { pool, previewPool } = this.dataSource;
    const ofReplicas = this.replicas?.standing.each ?? [];
    return [
      { server: 'primary', use: 'reads', pool },
      ...(previewPool === pool ? [] : [{ server: 'primary', use: 'previews', pool: previewPool } as const]),
      ...ofReplicas.map(({ host, pool: own }) => ({ server: host, use: 'reads', pool: own }) as const),
    ];
  }
}
