// The goals of the last report, which the next one shows beside its own.
import { existsSync, readFileSync } from 'node:fs';

/** @returns by the names of goals (nameGoals), what was measured */
export function readPrevious(file) {
  if (!existsSync(file)) return new Map();
  const rows = [...readFileSync(file, 'utf8').matchAll(/^\|(.+)\| +[≤≥] [\d.]+ \|(.+)\|[^|]*\|$/gm)];
  const goals = rows.map(([, label, rest]) => ({ label: label.trim(), text: rest.split('|').at(-1).trim() }));
  const names = nameGoals(goals);
  return new Map(goals.map(({ text }, index) => [names[index], text]));
}

/** The names of goals. A label that begins with «…» continues the one before. */
export function nameGoals(goals) {
  let subject = '';
  return goals.map(({ label }) => {
    if (!label.startsWith('…')) subject = label;
    return label === subject ? label : `${subject} ${label}`;
  });
}
