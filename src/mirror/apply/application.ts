import type { DirectoryMapping } from '../../config/model/mapping.js';
import type { Quarantined } from '../map/snapshot.js';
import type { Plan, PlanSummary } from '../plan/plan.js';
import type { Identities } from '../plan/stored.js';

/** A plan whose entries and roles are in tables of the session. */
export interface BulkContent {
  readonly applyEntries: (now: Date, signal: AbortSignal) => Promise<void>;
  readonly applyReferences: () => Promise<void>;
  /** The entryUUIDs of the groups whose members change; null if the plan has its roles. */
  readonly groups: readonly string[] | null;
}

export interface Application {
  /** The plan. For a bulk run, only what identifies changed entries: see BulkPlan. */
  readonly plan: Plan;
  readonly summary: PlanSummary;
  /** Null if the entries and roles are those of the plan. */
  readonly bulk: BulkContent | null;
  readonly mapping: DirectoryMapping;
  /** The id of the revision that the plan is based on, or null if there was none. */
  readonly basedOn: string | null;
  /** The entryUUIDs of the entries that were read for the plan, or null if the whole source was read. */
  readonly covers: Identities | null;
  /** The omitted entries and attributes among those read. */
  readonly quarantined: readonly Quarantined[];
  /** An operator has confirmed the plan. Its deletions do not count against later plans. */
  readonly confirmed: boolean;
  readonly asOf: Date;
  readonly changesDays: number;
  readonly fingerprint: string;
  /** The position from which the source can be followed, in the source's own format. */
  readonly position: string | null;
  /** The server's stamps of entries that are equal afterwards, by entryUUID: see entry_stamps. */
  readonly stamps?: ReadonlyMap<string, string>;
  /** Aborts the work between two statements. The transaction is then rolled back. */
  readonly signal: AbortSignal;
}
