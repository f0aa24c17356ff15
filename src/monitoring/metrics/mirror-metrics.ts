import { Injectable } from '@nestjs/common';
import { settlesWithin } from '../../database/connections/settles-within.js';
import { Database } from '../../database/database.js';
import { Revisions } from '../../database/revisions/revisions.js';
import { statement } from '../../database/statements/statement.js';
import { MirrorFollowing } from '../../mirror/mirror-following.js';
import type { FollowerState } from '../../mirror/status/follower-state.js';
import { MirrorState, type MirrorStatus, SyncState } from '../../mirror/status/mirror-state.js';
import { RECONCILIATION_KINDS } from '../../mirror/reconcile/reconciliations.js';
import { ENDS } from '../../mirror/sync/runs.js';
import type { LabelledValue, Metric, MetricGroup } from './metric.js';

/** A later answer is useless, because clients request metrics periodically. */
const READ_TIMEOUT_MS = 1000;

type LastReconciliation = [kind: string, finishedAt: Date, seconds: number];

const READ_RECONCILIATIONS = statement('select kind, finished_at, seconds from reconciliations');

type Sizes = [people: number, groups: number, memberships: number, quarantined: number];

const READ_SIZES = statement(
  `select user_count, group_count, (select count(*)::integer from memberships),
     (select count(*)::integer from quarantined_entries) from mirror_state`,
);

/** Also available during the start, when the database is not (src/start/startup-server.ts). */
export const DATABASE_UP_METRIC: Metric = {
  name: 'directory_database_up',
  aggregator: 'min',
  help: 'Whether the state of the mirror can be read from the database',
  read: () => false,
};

/**
 * Metrics of the freshness and size of the mirror. Each request for metrics executes three statements, or two
 * while nothing changes.
 */
@Injectable()
export class MirrorMetrics implements MetricGroup {
  readonly metrics: readonly Metric[] = [
    { ...DATABASE_UP_METRIC, read: () => this.status !== null },
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
      read: () => this.ofFollower(({ ended }) => ENDS.map((outcome) => [{ outcome }, ended[outcome] ?? 0])),
    },
    {
      name: 'directory_mirror_last_run_seconds',
      help: 'Duration of the last run that applied a revision, in seconds',
      aggregator: 'max',
      read: () => this.follower?.lastRevisionSeconds ?? null,
    },
    {
      name: 'directory_leader',
      help: 'Whether this process leads the synchronization: 1 in one process, 0 in the others',
      aggregator: 'max',
      read: () => this.follower?.isLeading ?? false,
    },
    {
      name: 'directory_mirror_lock_wait_seconds',
      help: 'Seconds for which a change of this process, or its lease, has been waiting for a lock of another session',
      aggregator: 'max',
      read: () => this.follower?.lockWaitSeconds ?? 0,
    },
    {
      name: 'directory_mirror_reconciliation_age_seconds',
      help: 'Seconds since the last comparison of the mirror with all entries of the server ended',
      aggregator: 'max',
      read: () =>
        this.reconciliations.map(([kind, at]) => [{ kind }, Math.max(0, (Date.now() - at.getTime()) / 1000)]),
    },
    {
      name: 'directory_mirror_last_reconciliation_seconds',
      help: 'Seconds that the last comparison with all entries of the server took',
      aggregator: 'max',
      read: () => this.reconciliations.map(([kind, , seconds]) => [{ kind }, seconds]),
    },
    {
      name: 'directory_mirror_healed_entries_total',
      help: 'Entries that a reconciliation by this process found to differ from the mirror, and that it corrected',
      aggregator: 'max',
      read: () =>
        this.ofFollower(({ healed }) => RECONCILIATION_KINDS.map((kind) => [{ kind }, healed[kind] ?? 0])),
    },
    {
      name: 'directory_follower_cpu_seconds_total',
      help: 'Processor time of the process that follows the directory, in seconds',
      aggregator: 'max',
      read: () => this.ofFollower(({ processorSeconds }) => [[{}, processorSeconds]]),
    },
    {
      name: 'directory_follower_resident_memory_bytes',
      help: 'Resident memory of the process that follows the directory',
      aggregator: 'max',
      read: () => this.ofFollower(({ residentBytes }) => [[{}, residentBytes]]),
    },
  ];
  /** Null: the database does not respond. */
  private status: MirrorStatus | null = null;
  /** Null: the process that follows the directory does not respond. */
  private follower: FollowerState | null = null;
  private reconciliations: readonly LastReconciliation[] = [];
  private ageSeconds: number | null = null;
  private known: { readonly revision: string | null; readonly sizes: Sizes } | null = null;

  constructor(
    private readonly database: Database,
    private readonly mirror: MirrorState,
    private readonly revisions: Revisions,
    private readonly following: MirrorFollowing,
  ) {}

  async refresh(): Promise<void> {
    const asked = this.read().catch(() => null);
    const state = this.following.readState();
    this.status = (await settlesWithin(READ_TIMEOUT_MS, asked)) ? await asked : null;
    this.follower = (await settlesWithin(READ_TIMEOUT_MS, state)) ? await state : null;
  }

  /** No values while the state of the follower is unknown: a counter must not start again from 0. */
  private ofFollower(read: (state: FollowerState) => LabelledValue[]): LabelledValue[] {
    return this.follower === null ? [] : read(this.follower);
  }

  private readEntries(): LabelledValue[] {
    if (this.status === null || this.known === null) return [];
    const [people, groups, memberships, quarantined] = this.known.sizes;
    return Object.entries({ people, groups, memberships, quarantined }).map(([kind, count]) => [
      { kind },
      count,
    ]);
  }

  private async read(): Promise<MirrorStatus> {
    const status = await this.mirror.get();
    this.ageSeconds = await this.revisions.readAge();
    this.reconciliations = await this.database.read<LastReconciliation>(READ_RECONCILIATIONS);
    if (this.known?.revision !== status.revisionId) {
      const [sizes] = await this.database.read<Sizes>(READ_SIZES);
      if (sizes !== undefined) this.known = { revision: status.revisionId, sizes };
    }
    return status;
  }
}
