import { type GroupRole, roleOf } from '../groups/group.model.js';
import { counted } from '../common/counted.js';
import type { ListedChanges, ListedEntry, ListedMembership } from '../mirror/revision/listed-changes.js';
import { printable } from '../common/printable.js';

const SIGNS = { created: '+', updated: '~', deleted: '-' } as const;
const CHANGES = ['created', 'updated', 'deleted'] as const;

/** Formats the changes of a dry run, and what the mirror leaves out, with at most `limit` of each kind. The others are only counted. */
export function describeChanges(changes: ListedChanges, limit: number): string[] {
  const { entries, memberships, quarantined, dangling } = changes;
  const groups = new Map<string, ListedMembership[]>();
  for (const each of memberships) groups.set(each.group, [...(groups.get(each.group) ?? []), each]);
  const ofKind = (kind: ListedEntry['kind']) =>
    CHANGES.flatMap((change) => {
      const found = entries.filter((each) => each.kind === kind && each.change === change);
      const lines = found.map((each) => describeEntry(each, groups.get(each.id)?.length ?? 0));
      return cut(lines, limit, `  ${SIGNS[change]} `);
    });
  const [users, ofGroups] = [ofKind('person'), ofKind('group')];
  // The members of a deleted group are only counted, because their names would hide all other changes.
  for (const { kind, change, id } of entries) if (kind === 'group' && change === 'deleted') groups.delete(id);
  const members = [...groups].map(([group, each]) => `  ${printable(group)}: ${describeRoles(each, limit)}`);
  const left = quarantined.map(({ dn, attribute, reason }) => {
    const what = attribute === null ? printable(dn) : `${attribute} of ${printable(dn)}`;
    return `  ! ${what} ${reason}`;
  });
  const unknown = dangling.map(
    ({ names, dn }) => `  ! ${counted(names, 'member')} of ${printable(dn)} without an entry`,
  );
  const total = dangling.reduce((sum, { names }) => sum + names, 0);
  return [
    ...section('Users', users),
    ...section('Groups', ofGroups),
    ...section('Members', cut(members, limit, '  ')),
    `Left out: ${quarantined.length} quarantined, ${total} dangling`,
    ...cut(left, limit, '  '),
    ...cut(unknown, limit, '  '),
  ];
}

function section(title: string, lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : [title, ...lines];
}

/** @param indent text before the count of the lines that are not shown */
function cut(lines: readonly string[], limit: number, indent = ''): string[] {
  if (lines.length <= limit) return [...lines];
  return [...lines.slice(0, limit), `${indent}… and ${lines.length - limit} more`];
}

/** @param members number of memberships that change in the group */
function describeEntry(
  { kind, change, id, name, formerId, dn, fields }: ListedEntry,
  members: number,
): string {
  const line = `  ${SIGNS[change]} ${printable(id)}  ${printable(name)}  ${printable(dn)}`;
  const former = formerId === null ? '' : ` (was ${printable(formerId)})`;
  if (change === 'updated') return `${line}${former}: ${fields.join(', ') || 'no visible attribute'}`;
  const isEmptied = kind === 'group' && change === 'deleted' && members > 0;
  return isEmptied ? `${line}, and with it ${counted(members, 'member')}` : line;
}

/** Removals are first, so that many additions do not hide them. */
function describeRoles(roles: readonly ListedMembership[], limit: number): string {
  const isRemoval = ({ after }: ListedMembership) => Number(after === null);
  const sorted = roles.toSorted((left, right) => isRemoval(right) - isRemoval(left));
  const texts = sorted.map(({ member, isGroup, ...ranks }) => {
    const who = printable(isGroup ? `@${member}` : member);
    const [before, after] = [roleIn(ranks.before), roleIn(ranks.after)];
    if (before === null) return `+ ${who} ${after ?? ''}`;
    return after === null ? `- ${who} (was ${before})` : `${who} ${before} → ${after}`;
  });
  return cut(texts, limit).join(', ');
}

function roleIn(rank: number | null): GroupRole | null {
  return rank === null ? null : roleOf(rank);
}

/** The changes of a dry run by kind, for programs. A role is null where there is none. */
export function groupedChanges({ entries, memberships, quarantined, dangling }: ListedChanges): object {
  const ofKind = (wanted: ListedEntry['kind']) => {
    const ofChange = (change: ListedEntry['change']) =>
      entries
        .filter((each) => each.kind === wanted && each.change === change)
        .map(({ id, name, formerId, dn, fields }) => ({
          ...{ id, name, dn },
          ...(change === 'updated' && { formerId: formerId ?? id, fields }),
        }));
    return Object.fromEntries(CHANGES.map((change) => [change, ofChange(change)]));
  };
  const rolesOf = (isNested: boolean) =>
    memberships
      .filter(({ isGroup }) => isGroup === isNested)
      .map(({ group, member, before, after }) => ({
        ...{ group, [isNested ? 'subgroup' : 'user']: member },
        ...{ before: roleIn(before), after: roleIn(after) },
      }));
  return {
    ...{ users: ofKind('person'), groups: ofKind('group') },
    ...{ memberships: rolesOf(false), nestings: rolesOf(true) },
    ...{ quarantined, dangling },
  };
}
