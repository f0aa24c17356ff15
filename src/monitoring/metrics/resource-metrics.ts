import { Injectable, Inject, Optional } from '@nestjs/common';
import { TokenCache } from '../../auth/oauth.guard.js';
import type { CacheStatistics } from '../../common/cache-statistics.js';
import { ResponseCache } from '../../graphql/cache/response-cache.js';
import { SignedUrls } from '../../media/signing/signed-urls.js';
import type { LabelledValue, Metric, MetricGroup } from './registry.js';
import type pg from 'pg';
import type { Config } from '../../config/config.js';
import { CONFIG } from '../../config/config.module.js';
import { WebhookEntity } from '../../webhooks/webhook.entity.js';
import { DataSource } from 'typeorm';
import type { DirectoryDataSource } from '../../database/connections/data-source.js';
import { ReadServer } from '../../database/connections/read-server.js';
import { Limits } from '../../limits/limits.js';

/** A connection pool, and the server and purpose that it belongs to. */
type NamedPool = readonly [labels: { readonly server: string; readonly use: string }, pool: pg.Pool];

/** Metrics of the connections to PostgreSQL. */
@Injectable()
export class DatabaseMetrics implements MetricGroup {
  readonly metrics: readonly Metric[] = [
    {
      name: 'directory_database_connections',
      help: 'Open connections',
      read: () =>
        this.pools().flatMap(([labels, pool]): LabelledValue[] => [
          [{ ...labels, state: 'used' }, pool.totalCount - pool.idleCount],
          [{ ...labels, state: 'idle' }, pool.idleCount],
        ]),
    },
    {
      name: 'directory_database_connections_limit',
      help: 'Maximum number of open connections',
      read: () => this.pools().map(([labels, pool]) => [labels, pool.options.max]),
    },
    {
      name: 'directory_database_waiting',
      help: 'Reads and previews that wait for a connection',
      read: () => this.pools().map(([labels, pool]) => [labels, pool.waitingCount]),
    },
    {
      name: 'directory_limits_shared',
      help: 'Whether limits are shared with other processes',
      aggregator: 'min',
      read: () => this.limits.isShared,
    },
  ];

  constructor(
    @Inject(DataSource) private readonly dataSource: DirectoryDataSource,
    @Optional() @Inject(ReadServer) private readonly reader: ReadServer | null,
    private readonly limits: Limits,
  ) {}

  private pools(): NamedPool[] {
    // The data source is closed while the service shuts down.
    if (!this.dataSource.isInitialized) return [];
    const { pool, previewPool } = this.dataSource;
    const pools: NamedPool[] = [[{ server: 'primary', use: 'reads' }, pool]];
    if (previewPool !== pool) pools.push([{ server: 'primary', use: 'previews' }, previewPool]);
    if (this.reader !== null) pools.push([{ server: 'standby', use: 'reads' }, this.reader.pool]);
    return pools;
  }
}

/** Metrics of caches: their size and their hits. */
@Injectable()
export class CacheMetrics implements MetricGroup {
  readonly metrics: readonly Metric[];

  constructor(responses: ResponseCache, tokens: TokenCache, signedUrls: SignedUrls) {
    const caches = { responses, tokens, signed_urls: signedUrls };
    const read = (property: keyof CacheStatistics) => () =>
      Object.entries(caches).flatMap(([cache, { statistics }]): LabelledValue[] => {
        const value = statistics[property];
        return value === null ? [] : [[{ cache }, value]];
      });
    this.metrics = [
      {
        name: 'directory_cache_hits_total',
        help: 'Lookups that found an entry in the cache',
        read: read('hits'),
      },
      {
        name: 'directory_cache_misses_total',
        help: 'Lookups that found no entry in the cache',
        read: read('misses'),
      },
      { name: 'directory_cache_entries', help: 'Entries in the cache', read: read('entries') },
      { name: 'directory_cache_bytes', help: 'Approximate memory of the entries', read: read('bytes') },
    ];
  }
}

/** The state of the receivers of changes, as the leader stores it. */
@Injectable()
export class WebhookMetrics implements MetricGroup {
  readonly metrics: readonly Metric[] = [
    {
      name: 'directory_webhook_enabled',
      help: 'Whether changes are sent to the receiver: 0 after three days of failures',
      aggregator: 'max',
      read: () => this.ofEach(({ disabledAt }) => (disabledAt === null ? 1 : 0)),
    },
    {
      name: 'directory_webhook_failing_seconds',
      help: 'Seconds for which the receiver has not accepted a change',
      aggregator: 'max',
      read: () =>
        this.ofEach(({ failingSince }) =>
          failingSince === null ? 0 : Math.max(0, (Date.now() - failingSince.getTime()) / 1000),
        ),
    },
  ];

  private states: readonly WebhookEntity[] = [];

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    @Inject(DataSource) private readonly dataSource: DataSource,
  ) {}

  async refresh(): Promise<void> {
    if (this.config.webhooks.length === 0) return;
    // Without the database, the last known state remains.
    this.states = await this.dataSource
      .getRepository(WebhookEntity)
      .find()
      .catch(() => this.states);
  }

  private ofEach(valueOf: (state: WebhookEntity) => number): LabelledValue[] {
    return this.config.webhooks.flatMap(({ id }): LabelledValue[] => {
      const state = this.states.find((each) => each.id === id);
      return state === undefined ? [] : [[{ target: id }, valueOf(state)]];
    });
  }
}
