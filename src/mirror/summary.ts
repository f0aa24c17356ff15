import type { Findings } from './synchroniser.js';

/** A run in one line: counts, and never names. */
export function summarise({ plan, quarantined, skipped }: Findings): string {
  const people = `people +${plan.createdPeople.length} ~${plan.updatedPeople.length} -${plan.deletedPeople.length}`;
  const groups = `groups +${plan.createdGroups.length} ~${plan.updatedGroups.length} -${plan.deletedGroups.length}`;
  const roles = `memberships ${plan.memberships.length}, nestings ${plan.nestings.length}`;
  const counts = `${people}, ${groups}, ${roles}; ${quarantined.length} quarantined`;
  if (skipped === null) return counts;
  const { dangling, placeholders, cyclic } = skipped;
  return `${counts}, ${dangling} dangling, ${placeholders} placeholders, ${cyclic} groups in cycles`;
}
