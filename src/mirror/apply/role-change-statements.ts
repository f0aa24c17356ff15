import { ChangeKind } from '../../common/change-kind.js';
import { arraysOf } from '../../common/chunks.js';
import type { Values } from '../../database/statements/statement.js';
import { unnest } from '../../database/statements/unnest.js';
import { kindColumn, type RecordedChanges } from './change-statements.js';
import type { Former } from './former-entries.js';

/** SQL that joins the former users and groups of the changed roles `c`. */
function joinFormer(values: Values, users: readonly Former[], groups: readonly Former[]): string {
  const types = ['integer', 'text', 'uuid', 'smallint'];
  const formerUser = unnest(values, types, arraysOf(users, 'key', 'id', 'uuid', 'visibleTo'));
  const formerGroup = unnest(
    values,
    [...types, 'smallint'],
    arraysOf(groups, 'key', 'id', 'uuid', 'visibleTo', 'membersVisibleTo'),
  );
  return `left join ${formerUser} as former_user (key, id, uuid, visible_to) on former_user.key = c.user_key
      left join ${formerGroup} as former_group (key, id, uuid, visible_to, members_visible_to)
        on former_group.key = c.group_key`;
}

/** A former role is for the audiences before and after: the former one could not see it. `greatest` ignores nulls. */
const FORMER_AUDIENCES = {
  user_visible_to: 'greatest(u.visible_to, former_user.visible_to)',
  group_visible_to: 'greatest(g.visible_to, former_group.visible_to)',
  members_visible_to: 'greatest(g.members_visible_to, former_group.members_visible_to)',
};
const AUDIENCES = {
  user_visible_to: 'u.visible_to',
  group_visible_to: 'g.visible_to',
  members_visible_to: 'g.members_visible_to',
};

/**
 * Members who leave a group, with the previous ids.
 * @param users those who are deleted, or have another id or audience, likewise groups
 */
export function recordRemovals(
  values: Values,
  users: readonly Former[],
  groups: readonly Former[],
  changes: string,
): RecordedChanges {
  return {
    columns: {
      kind: kindColumn(ChangeKind.MEMBER_REMOVED),
      user_key: 'c.user_key',
      user_id: 'coalesce(former_user.id, u.id)',
      user_uuid: 'coalesce(former_user.uuid, u.entry_uuid)',
      group_key: 'c.group_key',
      group_id: 'coalesce(former_group.id, g.id)',
      group_uuid: 'coalesce(former_group.uuid, g.entry_uuid)',
      role_before: 'c.role_before',
      role_after: 'c.role_after',
      ...FORMER_AUDIENCES,
    },
    from: `from ${changes} c
      left join users u on u.key = c.user_key
      left join groups g on g.key = c.group_key
      ${joinFormer(values, users, groups)}
      where c.role_before is not null and c.role_after is null`,
    order: ['c.group_key', 'c.user_key'],
  };
}

/**
 * First changed roles, then new members. A role that is only inherited in a different way is not recorded.
 * @param users those who have another audience, likewise groups
 */
export function recordRoles(
  values: Values,
  users: readonly Former[],
  groups: readonly Former[],
  changes: string,
): RecordedChanges {
  const audiences = Object.entries(AUDIENCES).map(([name, after]) => [
    name,
    `case when c.role_before is null then ${after} else ${FORMER_AUDIENCES[name as keyof typeof AUDIENCES]} end`,
  ]);
  return {
    columns: {
      kind: `case when c.role_before is null then ${kindColumn(ChangeKind.MEMBER_ADDED)}
        else ${kindColumn(ChangeKind.ROLE_CHANGED)} end`,
      user_key: 'c.user_key',
      user_id: 'u.id',
      user_uuid: 'u.entry_uuid',
      group_key: 'c.group_key',
      group_id: 'g.id',
      group_uuid: 'g.entry_uuid',
      role_before: 'c.role_before',
      role_after: 'c.role_after',
      ...(Object.fromEntries(audiences) as typeof AUDIENCES),
    },
    from: `from ${changes} c
      join users u on u.key = c.user_key
      join groups g on g.key = c.group_key
      ${joinFormer(values, users, groups)}
      where c.role_after is not null and c.role_before is distinct from c.role_after`,
    order: ['(c.role_before is null)::integer', 'c.group_key', 'c.user_key'],
  };
}
