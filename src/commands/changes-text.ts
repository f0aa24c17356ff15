import { type GroupRole, roleOf } from '../groups/group.model.js';
import { counted } from '../common/counted.js';
import type { ListedChanges, ListedEntry, ListedMembership } from '../mirror/revision/listed-changes.js';
import { printable } from '../common/printable.js';

const SIGNS = { created: '+', updated: '~', deleted: '-' } as const;

/** Formats the changes of a dry run (pure), with at most `limit` of each kind. The others are only counted. */
export function describeChanges({ entries, memberships }: ListedChanges, limit: number): string[] {
  const groups = new Map<string, ListedMembership[]>();
  for (const each of memberships) groups.set(each.group, [...(groups.get(each.group) ?? []), each]);
  const section = (title: string, lines: readonly string[]) => (lines.length === 0 ? [] : [title, ...lines]);
  const ofKind = (kind: ListedEntry['kind']) =>
    (['created', 'updated', 'deleted'] as const).flatMap((change) =>
      cut(
        entries
          .filter((each) => each.kind === kind && each.change === change)
          .map((each) => describeEntry(each, groups.get(each.id)?.length ?? 0)),
        limit,
        `  ${SIGNS[change]} `,
      ),
    );
  const sections = [...section('Users', ofKind('person')), ...section('Groups', ofKind('group'))];
  // The members of a deleted group are only counted, because their names would hide all other changes.
  for (const { kind, change, id } of entries) if (kind === 'group' && change === 'deleted') groups.delete(id);
  const members = [...groups].map(
    ([group, changes]) => `  ${printable(group)}: ${describeRoles(changes, limit)}`,
  );
  return [...sections, ...section('Members', cut(members, limit, '  '))];
}

type LeftOut = Pick<ListedChanges, 'quarantined' | 'dangling'>;

/** Formats what the mirror leaves out as lines for a terminal (pure). */
export function describeLeftOut({ quarantined, dangling }: LeftOut, limit: number): string[] {
  const lines = quarantined.map(
    ({ dn, attribute, reason }) =>
      `  ! ${attribute === null ? '' : `${attribute} of `}${printable(dn)} ${reason}`,
  );
  const names = dangling.map(
    (each) => `  ! ${counted(each.names, 'member')} of ${printable(each.dn)} without an entry`,
  );
  const total = dangling.reduce((sum, each) => sum + each.names, 0);
  return [
    `Left out: ${lines.length} quarantined, ${total} dangling`,
    ...cut(lines, limit, '  '),
    ...cut(names, limit, '  '),
  ];
}

/** Returns the changes of a dry run by kind, for programs (pure). A role is null where there is none. */
export function groupedChanges({ entries, memberships }: ListedChanges): object {
  const ofKind = (wanted: ListedEntry['kind']) => {
    const ofChange = (change: ListedEntry['change']) =>
      entries
        .filter((each) => each.kind === wanted && each.change === change)
        .map(({ id, name, formerId, dn, fields }) => ({
          id,
          name,
          dn,
          ...(change === 'updated' && { formerId: formerId ?? id, fields }),
        }));
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
  return {
    users: ofKind('person'),
    groups: ofKind('group'),
    memberships: roles(false),
    nestings: roles(true),
  };
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
  const sorted = [...roles].sort((left, right) => isRemoval(right) - isRemoval(left));
  return cut(sorted.map(describeRole), limit).join(', ');
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
