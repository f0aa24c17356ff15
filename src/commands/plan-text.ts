import { counted } from '../common/counted.js';
import type { Quarantined } from '../mirror/map/snapshot.js';
import type { EntryChanges, PlanReport, ReportedEntry, ReportedRole } from './plan-report.js';
import { printable } from '../common/printable.js';

/** A role of a user or of a group. The id of a group is prefixed with «@». */
type Role = ReportedRole & { readonly who: string };

/** Formats a plan (pure), with at most `limit` changes of each kind. The others are only counted. */
export function describePlan(report: PlanReport, limit: number): string[] {
  const roles = rolesByGroup(report);
  const going = new Set(report.groups.deleted.map(({ id }) => id));
  const takesAlong = ({ id }: ReportedEntry) => {
    const count = roles.get(id)?.length ?? 0;
    return count === 0 ? '' : `, and with it ${counted(count, 'member')}`;
  };
  // The members of a deleted group are only counted, because their names would hide all other changes.
  const members = [...roles]
    .filter(([group]) => !going.has(group))
    .sort(([left], [right]) => (left < right ? -1 : 1))
    .map(([group, changes]) => `  ${printable(group)}: ${describeRoles(changes, limit)}`);
  return [
    ...section('People', describeEntries(report.people, limit)),
    ...section('Groups', describeEntries(report.groups, limit, takesAlong)),
    ...section('Members', cut(members, limit, '  ')),
  ];
}

/** Formats the quarantined entries of a run as lines for a terminal (pure). */
export function describeQuarantined(quarantined: readonly Quarantined[], limit: number): string[] {
  const lines = quarantined.map(
    ({ dn, attribute, reason }) =>
      `  ! ${attribute === null ? '' : `${attribute} of `}${printable(dn)} ${reason}`,
  );
  return cut(lines, limit, '  ');
}

function rolesByGroup({ memberships, nestings }: PlanReport): Map<string, Role[]> {
  const roles = new Map<string, Role[]>();
  const add = (role: Role) => {
    const ofGroup = roles.get(role.group);
    if (ofGroup === undefined) roles.set(role.group, [role]);
    else ofGroup.push(role);
  };
  for (const membership of memberships) add({ ...membership, who: membership.user });
  for (const nesting of nestings) add({ ...nesting, who: `@${nesting.subgroup}` });
  return roles;
}

function describeEntries(
  { created, updated, deleted }: EntryChanges,
  limit: number,
  more: (entry: ReportedEntry) => string = () => '',
): string[] {
  const lineOf = (sign: string, { id, name }: ReportedEntry) =>
    `  ${sign} ${printable(id)}  ${printable(name)}`;
  const changed = updated.map(({ formerId, fields, ...entry }) => {
    const former = formerId === entry.id ? '' : ` (was ${printable(formerId)})`;
    return `${lineOf('~', entry)}${former}: ${fields.join(', ') || 'no visible attribute'}`;
  });
  const gone = deleted.map((entry) => `${lineOf('-', entry)}${more(entry)}`);
  const added = created.map((entry) => lineOf('+', entry));
  return [...cut(added, limit, '  + '), ...cut(changed, limit, '  ~ '), ...cut(gone, limit, '  - ')];
}

/** Limits each kind of change separately, so that many additions do not hide a removal. */
function describeRoles(roles: readonly Role[], limit: number): string {
  const come = roles.filter(({ before }) => before === null);
  const go = roles.filter(({ after }) => after === null);
  const change = roles.filter(({ before, after }) => before !== null && after !== null);
  const added = come.map(({ who, after }) => `+ ${printable(who)} ${after ?? ''}`);
  const gone = go.map(({ who, before }) => `- ${printable(who)} (was ${before ?? ''})`);
  const changed = change.map(({ who, before, after }) => {
    const what =
      before === after ? `${after ?? ''} (by other attributes)` : `${before ?? ''} → ${after ?? ''}`;
    return `${printable(who)} ${what}`;
  });
  return [added, gone, changed].flatMap((lines) => cut(lines, limit)).join(', ');
}

function section(title: string, lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : [title, ...lines];
}

/** @param indent text before the count of the lines that are not shown */
function cut(lines: readonly string[], limit: number, indent = ''): string[] {
  if (lines.length <= limit) return [...lines];
  return [...lines.slice(0, limit), `${indent}… and ${lines.length - limit} more`];
}
