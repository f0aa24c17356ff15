import type { Plan, PlanSummary } from '../plan/plan.js';
import type { Quarantined, Skipped } from '../map/snapshot.js';

export interface Findings {
  readonly summary: PlanSummary;
  /** Null: the plan is too large for memory. */
  readonly plan: Plan | null;
  /** The hash of the plan. Null: it was large, and nothing has to be confirmed. */
  readonly hash: string | null;
  readonly quarantined: readonly Quarantined[];
  /** Null if only changes were read, or the run was one in bulk. */
  readonly skipped: Skipped | null;
}

export type SyncOutcome =
  | { readonly kind: 'unchanged' }
  | ({ readonly kind: 'applied'; readonly revision: number } & Findings)
  | ({ readonly kind: 'blocked'; readonly reason: string } & Findings)
  | ({ readonly kind: 'planned'; readonly heldBecause: string | null; readonly plan: Plan } & Findings)
  | {
      readonly kind: 'failed';
      readonly reason: string;
      /** The contents of the source are invalid. A retry before they change is useless. */
      readonly isFinal: boolean;
      /** The server lacks some of the mirrored changes. */
      readonly isBehind: boolean;
    }
  | { readonly kind: 'stopped' };

export function countChanged(outcome: SyncOutcome, entries: readonly { readonly uuid: string }[]): number {
  if (outcome.kind !== 'applied' || entries.length === 0) return 0;
  const { plan } = outcome;
  // A large plan is one of everything that differs.
  if (plan === null) return entries.length;
  const changed = new Set([
    ...[...plan.createdPeople, ...plan.updatedPeople].map(({ value }) => value.uuid),
    ...[...plan.createdGroups, ...plan.updatedGroups, ...plan.regrouped].map(({ value }) => value.uuid),
    ...[...plan.deletedPeople, ...plan.deletedGroups].map(({ uuid }) => uuid),
  ]);
  return entries.filter(({ uuid }) => changed.has(uuid)).length;
}
