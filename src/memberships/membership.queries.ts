import type { LookupKey } from '../common/identity.js';
import { lookupCondition, type TableNames } from '../database/fields/object-table.js';
import { REVISION, type Statement, statement } from '../database/statements/statement.js';
import { GROUP_TABLE } from '../groups/group.queries.js';
import { WHOLE_ROLE } from './membership-list.js';

/** Keys of a user and a group by their identities, and the effective role of the user in the group. */
export function findRole(users: TableNames, user: LookupKey, group: LookupKey): Statement {
  const ofUser = lookupCondition(users, user, 'u', '$1');
  const ofGroup = lookupCondition(GROUP_TABLE, group, 'g', '$2');
  return statement(
    `
  select ids.user_key, ids.group_key, m.role, ids.members_visible_to, ids.user_id, ${REVISION}
  from (select
    (select u.key from users u where ${ofUser}) as user_key,
    (select u.id_folded from users u where ${ofUser}) as user_id,
    (select g.key from groups g where ${ofGroup}) as group_key,
    (select g.members_visible_to from groups g where ${ofGroup}) as members_visible_to) ids
  left join effective_memberships m on m.user_key = ids.user_key and m.group_key = ids.group_key`,
    { returnsRevision: true },
  );
}

export type FindRoleRow = [
  userKey: number | null,
  groupKey: number | null,
  role: number | null,
  membersVisibleTo: number | null,
  userId: string | null,
];

/** The role of a user in a group, by their keys. */
export const FIND_MEMBERSHIP = statement(
  `select ${WHOLE_ROLE.columns.join(', ')} from effective_memberships m where m.user_key = $1 and m.group_key = $2`,
);
