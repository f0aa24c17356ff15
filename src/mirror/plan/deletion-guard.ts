import type { AttributeLoss } from './attribute-losses.js';
import { countRemovals, type Plan } from './plan.js';

/** Deletions that are always let through: somebody leaves, and takes a group along. */
const ALWAYS_ALLOWED = 3;

/** How many there are of what can be deleted. */
export interface Counts {
  readonly people: number;
  readonly groups: number;
  readonly memberships: number;
}

/** Whether a plan deletes anything at all: most do not, and need no guard. */
export function deletesAnything(plan: Plan): boolean {
  return plan.deletedPeople.length + plan.deletedGroups.length + countRemovals(plan) > 0;
}

/** What the guard knows besides the plan. */
export interface GuardFacts {
  /** Nothing was taken over from the directory before. */
  readonly isFirst: boolean;
  /** In the mirror now. */
  readonly stored: Counts;
  /** Deleted within the window, by plans that nobody has confirmed. */
  readonly recentlyDeleted: Counts;
  /** Attributes that entries lose which stay. */
  readonly losses: readonly AttributeLoss[];
}

/**
 * Whether a plan would delete more, or take an attribute from more entries, than a directory loses in a normal moment: then something is wrong with the
 * source, or with what the account may see of it, and the plan is held until somebody confirms it (pure).
 * The same is true of a first reading that finds no people: an empty mirror tells every client that everyone has gone.
 * @param percent share that may go within the window
 * @returns why the plan is held; null when it may be applied
 */
export function guardPlan(plan: Plan, facts: GuardFacts, percent: number): string | null {
  const { isFirst, stored, recentlyDeleted, losses } = facts;
  if (isFirst && plan.createdPeople.length === 0) return 'The first reading of the directory found no people';
  if (stored.people === 0 && stored.groups === 0) return null;
  const peopleInSource = stored.people + plan.createdPeople.length - plan.deletedPeople.length;
  if (stored.people > 0 && peopleInSource === 0) return 'The directory suddenly has no people at all';
  const deleted: Counts = {
    people: plan.deletedPeople.length,
    groups: plan.deletedGroups.length,
    memberships: countRemovals(plan),
  };
  for (const kind of ['people', 'groups', 'memberships'] as const) {
    const excess = findExcess(deleted[kind], stored[kind], recentlyDeleted[kind], percent);
    if (excess !== null) return `It would delete ${excess(kind)}`;
  }
  for (const { attribute, kind, lost, held, recentlyLost } of losses) {
    const excess = findExcess(lost, held, recentlyLost, percent);
    if (excess !== null) return `It would take the attribute ${attribute} from ${excess(kind)}`;
  }
  return null;
}

/**
 * @param now how many go
 * @param stored how many there are
 * @param recently how many went within the window
 * @returns null when so many may go; else what says how many, of what, and how many may
 */
function findExcess(
  now: number,
  stored: number,
  recently: number,
  percent: number,
): ((kind: string) => string) | null {
  // Of what there was when the window began.
  const base = stored + recently;
  const allowed = Math.max(ALWAYS_ALLOWED, Math.floor((base * percent) / 100));
  if (now === 0 || now + recently <= allowed) return null;
  const before = recently > 0 ? ` after ${recently} shortly before` : '';
  return (kind) => `${now} of ${stored} ${kind}${before}: at most ${allowed} are let through`;
}
