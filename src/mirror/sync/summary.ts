import { counted } from '../../common/counted.js';
import type { ChangeCounts } from '../plan/plan.js';
import type { Findings } from './outcome.js';

/** Summarizes a run in one line, with counts and without names. */
export function summarize(findings: Findings): string {
  return `${summarizeChanges(findings.summary.counts)}; ${summarizeLeftOut(findings)}`;
}

export function summarizeChanges(counts: ChangeCounts): string {
  return Object.entries(counts)
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
  return `${counts}, ${dangling} dangling, ${counted(placeholders, 'placeholder')}, ${counted(cyclic, 'group')} in cycles`;
}
