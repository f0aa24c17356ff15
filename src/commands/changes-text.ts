import { type GroupRole, roleOf } from '../groups/group.model.js';
import type { ListedChanges, ListedEntry, ListedMembership } from '../mirror/revision/listed-changes.js';
import { printable } from '../common/printable.js';

const SIGNS = { created: '+', updated: '~', deleted: '-' } as const;

/** Formats the changes of a dry run (pure), with at most `limit` of each kind. The others are only counted. */
export function describeChanges({ entries, memberships }: ListedChanges, limit: number): string[] {
  const going = new Set(
    entries.filter(({ kind, change }) => kind === 'group' && change === 'deleted').map(({ id }) => id),
  );
  const section = (title: string, lines: readonly string[]) => (lines.length === 0 ? [] : [title, ...lines]);
  const ofKind = (kind: ListedEntry['kind']) =>
    (['created', 'updated', 'deleted'] as const).flatMap((change) =>
      cut(
        entries.filter((each) => each.kind === kind && each.change === change).map(describeEntry),
        limit,
        `  ${SIGNS[change]} `,
      ),
    );
  // The members of a deleted group would hide all other changes.
  const groups = new Map<string, ListedMembership[]>();
  for (const each of memberships)
    if (!going.has(each.group)) groups.set(each.group, [...(groups.get(each.group) ?? []), each]);
  const members = [...groups].map(
    ([group, changes]) => `  ${printable(group)}: ${cut(changes.map(describeRole), limit).join(', ')}`,
  );
  return [
    ...section('Users', ofKind('person')),
    ...section('Groups', ofKind('group')),
    ...section('Members', cut(members, limit, '  ')),
  ];
}

/** Formats what the mirror leaves out as lines for a terminal (pure). */
export function describeLeftOut(quarantined: ListedChanges['quarantined'], limit: number): string[] {
  const lines = quarantined.map(
    ({ dn, attribute, reason }) =>
      `  ! ${attribute === null ? '' : `${attribute} of `}${printable(dn)} ${reason}`,
  );
  return [`Left out: ${lines.length}`, ...cut(lines, limit, '  ')];
}

/** Returns the changes of a dry run by kind, for programs (pure). A role is null where there is none. */
export function groupedChanges({ entries, memberships }: ListedChanges): object {
  const ofKind = (wanted: ListedEntry['kind']) => {
    const ofChange = (change: ListedEntry['change']) =>
      entries
        .filter((each) => each.kind === wanted && each.change === change)
        .map(({ id, dn, fields }) => ({ id, dn, ...(change === 'updated' ? { fields } : {}) }));
    return { created: ofChange('created'), updated: ofChange('updated'), deleted: ofChange('deleted') };
  };
  const roles = (isGroup: boolean) =>
    memberships
      .filter((each) => each.isGroup === isGroup)
      .map(({ group, member, before, after }) => ({
        group,
        [isGroup ? 'subgroup' : 'user']: member,
        before: toRole(before),
        after: toRole(after),
      }));
  return { users: ofKind('person'), groups: ofKind('group'), memberships: roles(false), nestings: roles(true) };
}

function describeEntry({ change, id, dn, fields }: ListedEntry): string {
  const line = `  ${SIGNS[change]} ${printable(id)}  ${printable(dn)}`;
  return change === 'updated' ? `${line}: ${fields.join(', ') || 'no visible attribute'}` : line;
}

function describeRole({ member, isGroup, before, after }: ListedMembership): string {
  const who = printable(isGroup ? `@${member}` : member);
  if (before === null) return `+ ${who} ${toRole(after) ?? ''}`;
  return after === null
    ? `- ${who} (was ${toRole(before) ?? ''})`
    : `${who} ${toRole(before) ?? ''} → ${toRole(after) ?? ''}`;
}

function toRole(rank: number | null): GroupRole | null {
  return rank === null ? null : roleOf(rank);
}

/** @param indent text before the count of the lines that are not shown */
function cut(lines: readonly string[], limit: number, indent = ''): string[] {
  if (lines.length <= limit) return [...lines];
  return [...lines.slice(0, limit), `${indent}… and ${lines.length - limit} more`];
}
