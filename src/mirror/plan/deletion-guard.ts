import type { AttributeLoss } from './attribute-losses.js';
import type { PlanSummary } from './plan.js';

/** Number of deletions that are always allowed: for instance one user who leaves, and their group. */
const ALWAYS_ALLOWED = 3;

/** Numbers of the objects that a plan can delete. */
export interface Counts {
  readonly people: number;
  readonly groups: number;
  readonly memberships: number;
}

/** Whether a plan deletes anything. Most plans do not, and need no check. */
export function deletesAnything({ counts, removals }: PlanSummary): boolean {
  return counts.people.deleted + counts.groups.deleted + removals > 0;
}

/** The values that the deletion guard needs besides the plan. */
interface GuardFacts {
  /** No revision has been applied before. */
  readonly isFirst: boolean;
  readonly stored: Counts;
  /** Numbers deleted within the window by plans that were not confirmed. */
  readonly recentlyDeleted: Counts;
  /** What entries that remain lose. */
  readonly losses: readonly AttributeLoss[];
}

/**
 * Checks whether a plan deletes more entries, or removes an attribute from more entries, than is normal for a
 * directory (pure). If it does, the source probably has an error, or the account sees only a part of it, and
 * the plan is held until an operator confirms it. A first run that finds no people is held too.
 * @param percent share that may be deleted within the window
 * @returns the reason why the plan is held, or null if it may be applied
 */
export function guardPlan(
  { counts: { people, groups }, removals }: PlanSummary,
  facts: GuardFacts,
  percent: number,
): string | null {
  const { isFirst, stored, recentlyDeleted, losses } = facts;
  if (isFirst && people.created === 0) return 'The first run found no people in the directory';
  if (stored.people === 0 && stored.groups === 0) return null;
  const peopleInSource = stored.people + people.created - people.deleted;
  if (stored.people > 0 && peopleInSource === 0) return 'The directory no longer contains people';
  const deleted: Counts = {
    people: people.deleted,
    groups: groups.deleted,
    memberships: removals,
  };
  for (const kind of ['people', 'groups', 'memberships'] as const) {
    const excess = findExcess(deleted[kind], stored[kind], recentlyDeleted[kind], percent);
    if (excess !== null) return `It would delete ${excess(kind)}`;
  }
  for (const { what, kind, lost, held, recentlyLost, leastPercent = 0 } of losses) {
    const excess = findExcess(lost, held, recentlyLost, Math.max(percent, leastPercent));
    if (excess !== null) return `It would take ${what} from ${excess(kind)}`;
  }
  return null;
}

/**
 * Compares a number of deletions with the limit.
 * @param now number that the plan deletes
 * @param stored number in the mirror
 * @param recently number that was deleted within the window
 * @returns null if the number is allowed; otherwise a function that describes the excess for a kind
 */
function findExcess(
  now: number,
  stored: number,
  recently: number,
  percent: number,
): ((kind: string) => string) | null {
  // The number at the start of the window.
  const base = stored + recently;
  const allowed = Math.max(ALWAYS_ALLOWED, Math.floor((base * percent) / 100));
  if (now === 0 || now + recently <= allowed) return null;
  const before = recently > 0 ? ` after ${recently} shortly before` : '';
  return (kind) => `${now} of ${stored} ${kind}${before}: at most ${allowed} are let through`;
}
