import { Inject, Injectable } from '@nestjs/common';
import type pg from 'pg';
import { DataSource } from 'typeorm';
import { TokenCache } from '../../auth/tokens/token-cache.js';
import { settlesWithin } from '../../common/settles-within.js';
import type { Config } from '../../config/config.js';
import { CONFIG } from '../../config/config.module.js';
import type { DirectoryDataSource } from '../../database/connections/data-source.js';
import { Database } from '../../database/database.js';
import { Revisions } from '../../database/revisions.js';
import { statement } from '../../database/statements/statement.js';
import { ResponseCache } from '../../graphql/cache/response-cache.js';
import { Limits } from '../../limits/limits.js';
import { SignedUrls } from '../../media/signing/signed-urls.js';
import { MirrorFollowing } from '../../mirror/following.js';
import { MirrorState, type MirrorStatus, SyncState } from '../../mirror/status/mirror-state.js';
import { ENDS, Synchronizer } from '../../mirror/synchronizer.js';
import { WebhookEntity } from '../../webhooks/webhook.entity.js';
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
      'Whether limits are shared with other machines',
      () => this.limits.isShared,
      'min',
    ),
  ];

  constructor(
    @Inject(DataSource) private readonly dataSource: DirectoryDataSource,
    private readonly limits: Limits,
  ) {}

  private pools(): NamedPool[] {
    // The data source is closed while the service shuts down.
    if (!this.dataSource.isInitialized) return [];
    const { pool, previewPool, readPool } = this.dataSource;
    const pools: NamedPool[] = [[{ server: 'primary', use: 'reads' }, pool]];
    if (previewPool !== pool) pools.push([{ server: 'primary', use: 'previews' }, previewPool]);
    if (readPool !== null) pools.push([{ server: 'standby', use: 'reads' }, readPool]);
    return pools;
  }
}

/** Metrics of caches: their size and their hits. */
@Injectable()
export class CacheMetrics implements MetricGroup {
  readonly metrics: MetricGroup['metrics'];

  constructor(responses: ResponseCache, tokens: TokenCache, signedUrls: SignedUrls) {
    const caches = { responses, tokens, signed_urls: signedUrls };
    const read = (property: keyof TokenCache['statistics']) => () =>
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

/** A later answer is useless, because clients request metrics periodically. */
const READ_TIMEOUT_MS = 1000;

type Sizes = [users: number, groups: number, memberships: number, quarantined: number];

const READ_SIZES = statement(
  `select user_count, group_count, (select count(*)::integer from effective_memberships where direct_role is not null),
     (select count(*)::integer from entries where reason is not null or notes is not null) from mirror_state`,
);

/**
 * Metrics of the freshness and size of the mirror. Each request for metrics executes three statements, or two
 * while nothing changes.
 */
@Injectable()
export class MirrorMetrics implements MetricGroup {
  readonly metrics = [
    metric(
      'directory_database_up',
      'Whether the state of the mirror can be read from the database',
      () => this.status !== null,
      'min',
    ),
    metric(
      'directory_mirror_state',
      'State of the synchronization: 1 for the current state, 0 for the others',
      () => Object.values(SyncState).map((state) => [{ state }, this.status?.state === state ? 1 : 0]),
      'max',
    ),
    metric(
      'directory_mirror_age_seconds',
      'Seconds since the mirror was last known to equal the directory',
      () => (this.status === null ? null : this.ageSeconds),
      'max',
    ),
    metric('directory_mirror_revision', 'Last applied revision', () => this.status?.revision ?? null, 'max'),
    metric(
      'directory_mirror_read_revision',
      'Revision from which this process answers; it lags behind the applied one only briefly',
      () => this.revisions.current?.number ?? null,
      'min',
    ),
    metric('directory_mirror_entries', 'Number of objects in the mirror', () => this.readEntries(), 'max'),
    metric(
      'directory_mirror_runs_total',
      'Synchronization runs of this process, by outcome',
      () => ENDS.map((outcome) => [{ outcome }, this.synchronizer.ended.get(outcome) ?? 0]),
      'max',
    ),
    metric(
      'directory_leader',
      'Whether this process leads the synchronization: 1 in one process, 0 in the others',
      () => this.following.isLeading,
      'max',
    ),
    metric(
      'directory_mirror_last_scan_seconds',
      'Seconds that the last comparison of all entries with the directory took',
      () => this.synchronizer.lastScanSeconds,
      'max',
    ),
  ];
  /** Null: the database does not respond. */
  private status: MirrorStatus | null = null;
  private ageSeconds: number | null = null;
  private known: { readonly revision: string | null; readonly sizes: Sizes } | null = null;

  constructor(
    private readonly database: Database,
    private readonly mirror: MirrorState,
    private readonly revisions: Revisions,
    private readonly following: MirrorFollowing,
    private readonly synchronizer: Synchronizer,
  ) {}

  async refresh(): Promise<void> {
    const asked = this.read().catch(() => null);
    this.status = (await settlesWithin(READ_TIMEOUT_MS, asked)) ? await asked : null;
  }

  private readEntries(): LabelledValue[] {
    if (this.status === null || this.known === null) return [];
    const [users, groups, memberships, quarantined] = this.known.sizes;
    return Object.entries({ users, groups, memberships, quarantined }).map(([kind, count]) => [
      { kind },
      count,
    ]);
  }

  private async read(): Promise<MirrorStatus> {
    const status = await this.mirror.get();
    this.ageSeconds = await this.revisions.readAge();
    if (this.known?.revision !== status.revisionId) {
      const [sizes] = await this.database.read<Sizes>(READ_SIZES);
      if (sizes !== undefined) this.known = { revision: status.revisionId, sizes };
    }
    return status;
  }
}

/** The state of the receivers of changes, as the leader stores it. */
@Injectable()
export class WebhookMetrics implements MetricGroup {
  readonly metrics = [
    metric(
      'directory_webhook_failing_seconds',
      'Seconds for which the receiver has not accepted a change',
      () => this.ofEach(({ failedSeconds }) => failedSeconds),
      'max',
    ),
  ];
  private states: readonly WebhookEntity[] = [];

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    @Inject(DataSource) private readonly dataSource: DataSource,
  ) {}

  async refresh(): Promise<void> {
    if (this.config.webhooks.length === 0) return;
    // Without the database, the last known state remains.
    const asked = this.dataSource.getRepository(WebhookEntity).find();
    this.states = await asked.catch(() => this.states);
  }

  private ofEach(valueOf: (state: WebhookEntity) => number): LabelledValue[] {
    const targets = this.config.webhooks.map(({ id }) => id);
    return this.states
      .filter(({ id }) => targets.includes(id))
      .map((state) => [{ target: state.id }, valueOf(state)]);
  }
}
