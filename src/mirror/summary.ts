import type { Plan } from './plan.js';
import type { Snapshot } from './snapshot.js';

/** A run in one line: counts, and never names. */
export function summarise({ plan, snapshot }: { plan: Plan; snapshot: Snapshot }): string {
  const people = `people +${plan.createdPeople.length} ~${plan.updatedPeople.length} -${plan.deletedPeople.length}`;
  const groups = `groups +${plan.createdGroups.length} ~${plan.updatedGroups.length} -${plan.deletedGroups.length}`;
  const { dangling, placeholders, cyclic } = snapshot.skipped;
  return (
    `${people}, ${groups}, memberships ${plan.memberships.length}, nestings ${plan.nestings.length}; ` +
    `${snapshot.quarantined.length} quarantined, ${dangling} dangling, ${placeholders} placeholders, ${cyclic} groups in cycles`
  );
}
