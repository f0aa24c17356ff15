import { Inject, Injectable, Optional } from '@nestjs/common';
import type pg from 'pg';
import { DataSource } from 'typeorm';
import { TokenCache } from '../../auth/tokens/token-cache.js';
import type { CacheStatistics } from '../../common/cache-statistics.js';
import type { DirectoryDataSource } from '../../database/connections/data-source.js';
import { ReadServer } from '../../database/connections/read-server.js';
import { ResponseCache } from '../../graphql/cache/response-cache.js';
import { Limits } from '../../limits/limits.js';
import { SignedUrls } from '../../media/signing/signed-urls.js';
import { type LabelledValue, metric, type MetricGroup } from './registry.js';

/** A connection pool, and the server and purpose that it belongs to. */
type NamedPool = readonly [labels: { readonly server: string; readonly use: string }, pool: pg.Pool];

/** Metrics of the connections to PostgreSQL, and of the limits that processes share. */
@Injectable()
export class DatabaseMetrics implements MetricGroup {
  readonly metrics = [
    metric('directory_database_connections', 'Open connections', () =>
      this.pools().flatMap(([labels, pool]): LabelledValue[] => [
        [{ ...labels, state: 'used' }, pool.totalCount - pool.idleCount],
        [{ ...labels, state: 'idle' }, pool.idleCount],
      ]),
    ),
    metric('directory_database_connections_limit', 'Maximum number of open connections', () =>
      this.pools().map(([labels, pool]) => [labels, pool.options.max]),
    ),
    metric('directory_database_waiting', 'Reads and previews that wait for a connection', () =>
      this.pools().map(([labels, pool]) => [labels, pool.waitingCount]),
    ),
    metric(
      'directory_limits_shared',
      'Whether limits are shared with other processes',
      () => this.limits.isShared,
      'min',
    ),
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
  readonly metrics: MetricGroup['metrics'];

  constructor(responses: ResponseCache, tokens: TokenCache, signedUrls: SignedUrls) {
    const caches = { responses, tokens, signed_urls: signedUrls };
    const read = (property: keyof CacheStatistics) => () =>
      Object.entries(caches).flatMap(([cache, { statistics }]): LabelledValue[] => {
        const value = statistics[property];
        return value === null ? [] : [[{ cache }, value]];
      });
    this.metrics = [
      metric('directory_cache_hits_total', 'Lookups that found an entry in the cache', read('hits')),
      metric('directory_cache_misses_total', 'Lookups that found no entry in the cache', read('misses')),
      metric('directory_cache_entries', 'Entries in the cache', read('entries')),
      metric('directory_cache_bytes', 'Approximate memory of the entries', read('bytes')),
    ];
  }
}
