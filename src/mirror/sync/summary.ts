import type { Plan, RoleChange } from '../plan/plan.js';
import type { Findings } from './outcome.js';

/** How many come, change and go. */
export interface ChangeCounts {
  readonly created: number;
  readonly updated: number;
  readonly deleted: number;
}

/** A run in one line: counts, and never names. */
export function summarise(findings: Findings): string {
  return `${summariseChanges(findings.plan)}; ${summariseLeftOut(findings)}`;
}

/** What a plan changes, in one line. */
export function summariseChanges(plan: Plan): string {
  return Object.entries(countChanges(plan))
    .map(([kind, { created, updated, deleted }]) => `${kind} +${created} ~${updated} -${deleted}`)
    .join(', ');
}

/** What a run left out, in one line. */
export function summariseLeftOut({
  quarantined,
  skipped,
}: Pick<Findings, 'quarantined' | 'skipped'>): string {
  const counts = `${quarantined.length} quarantined`;
  if (skipped === null) return counts;
  const { dangling, placeholders, cyclic } = skipped;
  return `${counts}, ${dangling} dangling, ${placeholders} placeholders, ${cyclic} groups in cycles`;
}

export function countChanges(
  plan: Plan,
): Record<'people' | 'groups' | 'memberships' | 'nestings', ChangeCounts> {
  return {
    people: {
      created: plan.createdPeople.length,
      updated: plan.updatedPeople.length,
      deleted: plan.deletedPeople.length,
    },
    groups: {
      created: plan.createdGroups.length,
      updated: plan.updatedGroups.length,
      deleted: plan.deletedGroups.length,
    },
    memberships: countRoles(plan.memberships),
    nestings: countRoles(plan.nestings),
  };
}

function countRoles(changes: readonly RoleChange[]): ChangeCounts {
  const created = changes.filter(({ before }) => before === null).length;
  const deleted = changes.filter(({ after }) => after === null).length;
  return { created, updated: changes.length - created - deleted, deleted };
}
