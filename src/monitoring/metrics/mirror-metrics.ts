import { Injectable } from '@nestjs/common';
import { settlesWithin } from '../../database/connections/settles-within.js';
import { Database } from '../../database/database.js';
import { Revisions } from '../../database/revisions/revisions.js';
import { statement } from '../../database/statements/statement.js';
import { Leadership } from '../../mirror/sync/leadership.js';
import { MirrorState, type MirrorStatus, SyncState } from '../../mirror/status/mirror-state.js';
import { RECONCILIATION_KINDS } from '../../mirror/reconcile/reconciliations.js';
import { ENDS } from '../../mirror/sync/runs.js';
import { Synchroniser } from '../../mirror/sync/synchronizer.js';
import type { CounterReading, GaugeReading, LabelledValue, MetricGroup, Metrics } from './metric-group.js';

/**
 * Milliseconds within which the database must report the mirror status. A later answer is useless, because
 * clients request metrics periodically.
 */
const PATIENCE = 1000;

type LastReconciliation = [kind: string, finishedAt: Date, seconds: number];

const READ_RECONCILIATIONS = statement('select kind, finished_at, seconds from reconciliations');

type Sizes = [people: number, groups: number, memberships: number, quarantined: number];

const READ_SIZES = statement(
  `select user_count, group_count, (select count(*)::integer from memberships),
     (select count(*)::integer from quarantined_entries) from mirror_state`,
);

/**
 * Metrics of the freshness and size of the mirror. Each request for metrics executes three statements, or two
 * while nothing changes.
 */
@Injectable()
export class MirrorMetrics implements MetricGroup {
  private databaseUp!: GaugeReading;
  private state!: GaugeReading;
  private age!: GaugeReading;
  private revision!: GaugeReading;
  private readRevision!: GaugeReading;
  private entries!: GaugeReading;
  private runs!: CounterReading;
  private lastRun!: GaugeReading;
  private leader!: GaugeReading;
  private lockWait!: GaugeReading;
  private reconciliationAge!: GaugeReading;
  private lastReconciliation!: GaugeReading;
  private healed!: CounterReading;
  private reconciliations: readonly LastReconciliation[] = [];
  private ageSeconds: number | null = null;
  private known: { readonly revision: string | null; readonly sizes: Sizes } | null = null;

  constructor(
    private readonly database: Database,
    private readonly mirror: MirrorState,
    private readonly revisions: Revisions,
    private readonly synchroniser: Synchroniser,
    private readonly leadership: Leadership,
  ) {}

  register(metrics: Metrics): void {
    this.databaseUp = registerDatabaseUp(metrics);
    this.state = metrics.gauge(
      'directory_mirror_state',
      'How synchronisation stands: 1 for the state that it is in, 0 for the others',
      ['state'],
    );
    this.age = metrics.gauge(
      'directory_mirror_age_seconds',
      'Seconds since the directory was last known to be as the mirror is',
    );
    this.revision = metrics.gauge('directory_mirror_revision', 'Revision that was applied last');
    this.readRevision = metrics.gauge(
      'directory_mirror_read_revision',
      'Revision that this process answers from; behind the one above for moments only',
    );
    this.entries = metrics.gauge('directory_mirror_entries', 'What is in the mirror', ['kind']);
    this.runs = metrics.counter(
      'directory_mirror_runs_total',
      'Runs of the synchronisation by this process, by how they ended',
      ['outcome'],
    );
    this.lastRun = metrics.gauge(
      'directory_mirror_last_run_seconds',
      'Seconds that the last run took that applied a revision',
    );
    this.leader = metrics.gauge(
      'directory_leader',
      'Whether this process leads the synchronisation: 1 in one process, 0 in the others',
    );
    this.lockWait = metrics.gauge(
      'directory_mirror_lock_wait_seconds',
      'Seconds for which the change that this process applies has been waiting for a lock of another database session',
    );
    this.reconciliationAge = metrics.gauge(
      'directory_mirror_reconciliation_age_seconds',
      'Seconds since the last comparison of the mirror with all entries of the server ended',
      ['kind'],
    );
    this.lastReconciliation = metrics.gauge(
      'directory_mirror_last_reconciliation_seconds',
      'Seconds that the last comparison with all entries of the server took',
      ['kind'],
    );
    this.healed = metrics.counter(
      'directory_mirror_healed_entries_total',
      'Entries that a comparison by this process found to differ from the mirror, and that were taken over',
      ['kind'],
    );
  }

  async update(): Promise<void> {
    const { ended, lastRevisionSeconds } = this.synchroniser.runs;
    this.runs.take(ENDS.map((outcome) => [{ outcome }, ended.get(outcome) ?? 0]));
    this.lastRun.set(lastRevisionSeconds);
    this.leader.set(this.leadership.isLeading ? 1 : 0);
    this.lockWait.set(this.leadership.waitingSeconds ?? 0);
    this.readRevision.set(this.revisions.current?.number ?? null);
    const { healed } = this.synchroniser.reconciliations;
    this.healed.take(RECONCILIATION_KINDS.map((kind) => [{ kind }, healed.get(kind) ?? 0]));
    const status = await this.ask();
    this.reconciliationAge.take(
      this.reconciliations.map(([kind, at]) => [{ kind }, Math.max(0, (Date.now() - at.getTime()) / 1000)]),
    );
    this.lastReconciliation.take(this.reconciliations.map(([kind, , seconds]) => [{ kind }, seconds]));
    this.databaseUp.set(status === null ? 0 : 1);
    this.state.take(Object.values(SyncState).map((state) => [{ state }, status?.state === state ? 1 : 0]));
    this.age.set(status === null ? null : this.ageSeconds);
    this.revision.set(status?.revision ?? null);
    const [people, groups, memberships, quarantined] = status === null ? [] : (this.known?.sizes ?? []);
    const entries = { people, groups, memberships, quarantined };
    this.entries.take(
      Object.entries(entries).flatMap(([kind, count]): LabelledValue[] =>
        count === undefined ? [] : [[{ kind }, count]],
      ),
    );
  }

  /** Null: the database does not respond. */
  private async ask(): Promise<MirrorStatus | null> {
    const asked = this.read().catch(() => null);
    return (await settlesWithin(PATIENCE, asked)) ? asked : null;
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

/** Registers the metric that is also available during the start (src/start/startup-metrics.ts). */
export function registerDatabaseUp(metrics: Metrics): GaugeReading {
  return metrics.gauge('directory_database_up', 'Whether the database tells of the mirror');
}
