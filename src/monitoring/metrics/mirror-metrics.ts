import { Injectable } from '@nestjs/common';
import { settlesWithin } from '../../common/settles-within.js';
import { Database } from '../../database/database.js';
import { Revisions } from '../../database/revisions.js';
import { statement } from '../../database/statements/statement.js';
import { MirrorFollowing } from '../../mirror/following.js';
import { MirrorState, type MirrorStatus, SyncState } from '../../mirror/status/mirror-state.js';
import { ENDS, Synchronizer } from '../../mirror/synchronizer.js';
import type { LabelledValue, Metric, MetricGroup } from './registry.js';

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
  readonly metrics: readonly Metric[] = [
    {
      name: 'directory_database_up',
      aggregator: 'min',
      help: 'Whether the state of the mirror can be read from the database',
      read: () => this.status !== null,
    },
    {
      name: 'directory_mirror_state',
      help: 'State of the synchronization: 1 for the current state, 0 for the others',
      aggregator: 'max',
      read: () => Object.values(SyncState).map((state) => [{ state }, this.status?.state === state ? 1 : 0]),
    },
    {
      name: 'directory_mirror_age_seconds',
      help: 'Seconds since the mirror was last known to equal the directory',
      aggregator: 'max',
      read: () => (this.status === null ? null : this.ageSeconds),
    },
    {
      name: 'directory_mirror_revision',
      help: 'Last applied revision',
      aggregator: 'max',
      read: () => this.status?.revision ?? null,
    },
    {
      name: 'directory_mirror_read_revision',
      help: 'Revision from which this process answers; it lags behind the applied one only briefly',
      aggregator: 'min',
      read: () => this.revisions.current?.number ?? null,
    },
    {
      name: 'directory_mirror_entries',
      help: 'Number of objects in the mirror',
      aggregator: 'max',
      read: () => this.readEntries(),
    },
    {
      name: 'directory_mirror_runs_total',
      help: 'Synchronization runs of this process, by outcome',
      aggregator: 'max',
      read: () => ENDS.map((outcome) => [{ outcome }, this.synchronizer.ended.get(outcome) ?? 0]),
    },
    {
      name: 'directory_mirror_last_run_seconds',
      help: 'Duration of the last run that applied a revision, in seconds',
      aggregator: 'max',
      read: () => this.synchronizer.lastRevisionSeconds,
    },
    {
      name: 'directory_leader',
      help: 'Whether this process leads the synchronization: 1 in one process, 0 in the others',
      aggregator: 'max',
      read: () => this.following.isLeading,
    },
    {
      name: 'directory_mirror_last_scan_seconds',
      help: 'Seconds that the last comparison of all entries with the directory took',
      aggregator: 'max',
      read: () => this.synchronizer.lastScanSeconds,
    },
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
