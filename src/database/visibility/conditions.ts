/**
 * SQL conditions of visibility (docs/adr/0038). They use the relations `viewer`, `limited` and `all_…` of visible-tables.ts.
 */
export interface Conditions {
  /** Whether the viewer sees a user with an audience. */
  readonly seesUser: (level: string, user: string) => string;
  /** Whether the viewer belongs to the audience of a group, or of the members of a group. */
  readonly isInAudience: (level: string, group: string) => string;
  /** Whether the viewer is the user. */
  readonly isViewer: (user: string) => string;
}

const KEY = '(select v.key from viewer v)';
const MEMBER_OF = '((select v.member_of from viewer v)::integer[])';
const ADMIN_OF = '((select v.admin_of from viewer v)::integer[])';

/** What rules hide is visible to their audiences. */
export const BY_AUDIENCE: Conditions = {
  seesUser: (level, user) => `(${level} = 0 or ${user} = ${KEY} or (${level} = 1 and exists (
      select from all_memberships a where a.user_key = ${user} and a.group_key = any ${ADMIN_OF})))`,
  isInAudience: (level, group) =>
    `(${level} = 0 or ${group} = any ${ADMIN_OF} or (${level} = 1 and ${group} = any ${MEMBER_OF}))`,
  isViewer: (user) => `${user} = ${KEY}`,
};

/** What rules hide is visible. */
export const WITHOUT_RULES: Conditions = {
  seesUser: () => 'true',
  isInAudience: () => 'true',
  isViewer: () => 'false',
};

/**
 * Whether a viewer sees a change `c`. The audiences are those at the time of the change. Roles are those of now; for a deleted
 * user or group, those at its deletion.
 */
export function seesChange({ seesUser, isInAudience, isViewer }: Conditions): string {
  if (seesUser === WITHOUT_RULES.seesUser) return '(c.outside_of = 0)';
  const user = (level: string) => `(${seesUser(level, 'c.user_key')} or (${level} = 1 and exists (
      select from all_changes d where d.user_key = c.user_key and d.kind = ${USER_DELETED} and d.audience && ${ADMIN_OF})))`;
  const group = (level: string) => `(${isInAudience(level, 'c.group_key')} or exists (
      select from all_changes d where d.group_key = c.group_key and d.kind = ${GROUP_DELETED}
        and ${KEY} = any (case ${level} when 1 then d.audience else d.admin_audience end)))`;
  const members = `(${isViewer('c.user_key')} or ${group('c.members_visible_to')})`;
  const isInside = `case when c.group_key is null then ${user('c.outside_of')} else ${group('c.outside_of')} end`;
  return `(
    (c.user_visible_to = 0 or ${user('c.user_visible_to')})
    and (c.group_visible_to = 0 or ${group('c.group_visible_to')})
    and (c.members_visible_to = 0 or ${members})
    and (c.outside_of = 0 or (${isInside}) is not true))`;
}

/** The numbers of the kinds of changes that record audiences (src/changes/change.model.ts). */
const USER_DELETED = 3;
const GROUP_DELETED = 6;
