import type { Plan, RoleChange } from '../plan/plan.js';
import type { Findings } from './outcome.js';

interface ChangeCounts {
  readonly created: number;
  readonly updated: number;
  readonly deleted: number;
}

/** Summarizes a run in one line, with counts and without names. */
export function summarize(findings: Findings): string {
  return `${summarizeChanges(findings.plan)}; ${summarizeLeftOut(findings)}`;
}

export function summarizeChanges(plan: Plan): string {
  return Object.entries(countChanges(plan))
    .map(([kind, { created, updated, deleted }]) => `${kind} +${created} ~${updated} -${deleted}`)
    .join(', ');
}

/** Summarizes in one line what a run omitted. */
export function summarizeLeftOut({
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
