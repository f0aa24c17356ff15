import { REVISION, statement } from '../database/statements/statement.js';
import { WHOLE_ROLE } from './membership-role.js';

/** Keys of a user and a group by their ids, and the effective role of the user in the group. */
export const FIND_ROLE = statement(
  `
  select ids.user_key, ids.group_key, m.role, ${REVISION}
  from (select
    (select u.key from users u where u.id_folded = $1) as user_key,
    (select g.key from groups g where g.id_folded = $2) as group_key) ids
  left join effective_memberships m on m.user_key = ids.user_key and m.group_key = ids.group_key`,
  { tellsRevision: true, isShort: true },
);

export type FindRoleRow = [userKey: number | null, groupKey: number | null, role: number | null];

/** The role of a user in a group, by their keys. */
export const FIND_MEMBERSHIP = statement(
  `select ${WHOLE_ROLE.columns.join(', ')} from effective_memberships m where m.user_key = $1 and m.group_key = $2`,
);
