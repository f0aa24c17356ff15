/**
 * SQL conditions of visibility (docs/adr/0038), each for rows of an alias. They use the relations `viewer`, `limited` and
 * `all_…` of visible-tables.ts. They can be null, which counts as false.
 */
export interface Conditions {
  readonly seesUser: (alias: string) => string;
  readonly seesGroup: (alias: string) => string;
  /** Of a group that the viewer sees. */
  readonly seesMembers: (alias: string) => string;
  /** Of a membership: the user, without the groups to which the viewer is limited. */
  readonly seesItsUser: (alias: string) => string;
  /** Of a membership whose user the viewer sees. */
  readonly seesItsGroup: (alias: string) => string;
  readonly hidesItsMembers: (alias: string) => string;
  readonly seesChange: string;
}

interface Audiences {
  /** Whether the viewer belongs to the audience of a user. */
  readonly ofUser: (level: string, user: string) => string;
  /** Whether the viewer belongs to the audience of a group, or of the members of a group. */
  readonly ofGroup: (level: string, group: string) => string;
  readonly isViewer: (user: string) => string;
}

const KEY = '(select v.key from viewer v)';
const MEMBER_OF = '((select v.member_of from viewer v)::integer[])';
const ADMIN_OF = '((select v.admin_of from viewer v)::integer[])';
const LIMITED_GROUPS = '((select l.groups from limited l)::integer[])';
const LIMITED_USERS = `(
    select a.user_key from all_memberships a where a.group_key = any ((select l.roots from limited l)::integer[]))`;

/** What rules hide is visible to their audiences. */
const BY_RULES: Audiences = {
  ofUser: (level, user) => `(${level} = 0 or ${user} = ${KEY} or (${level} = 1 and exists (
      select from all_memberships a where a.user_key = ${user} and a.group_key = any ${ADMIN_OF})))`,
  ofGroup: (level, group) =>
    `(${level} = 0 or ${group} = any ${ADMIN_OF} or (${level} = 1 and ${group} = any ${MEMBER_OF}))`,
  isViewer: (user) => `${user} = ${KEY}`,
};

/** What rules hide is visible. Changes are recorded twice for some viewers: for those inside and outside an audience. */
const WITHOUT_RULES: Audiences = {
  ofUser: () => 'true',
  ofGroup: () => 'true',
  isViewer: () => 'false',
};

/** @param isLimited whether the viewer is limited to the groups of the relation `limited` */
export function conditionsFor(hasRules: boolean, isLimited: boolean): Conditions {
  const audiences = hasRules ? BY_RULES : WITHOUT_RULES;
  const { ofUser, ofGroup, isViewer } = audiences;
  const seesRow = hasRules ? seesChange(audiences) : 'c.outside_of = 0';
  const among = (condition: string) => (isLimited ? ` and ${condition}` : '');
  const isOfLimited = `case when c.group_key is null then c.user_key in ${LIMITED_USERS} else c.group_key = any ${LIMITED_GROUPS} end`;
  return {
    seesUser: (u) => `(${ofUser(`${u}.visible_to`, `${u}.key`)}${among(`${u}.key in ${LIMITED_USERS}`)})`,
    seesGroup: (g) =>
      `(${ofGroup(`${g}.visible_to`, `${g}.key`)}${among(`${g}.key = any ${LIMITED_GROUPS}`)})`,
    seesMembers: (g) => ofGroup(`${g}.members_visible_to`, `${g}.key`),
    seesItsUser: (m) => ofUser(`${m}.user_visible_to`, `${m}.user_key`),
    seesItsGroup: (m) => `(${ofGroup(`${m}.group_visible_to`, `${m}.group_key`)}
      and (${isViewer(`${m}.user_key`)} or ${ofGroup(`${m}.group_members_visible_to`, `${m}.group_key`)})${among(
        `${m}.group_key = any ${LIMITED_GROUPS}`,
      )})`,
    hidesItsMembers: (m) => `not ${ofGroup(`${m}.group_members_visible_to`, `${m}.group_key`)}`,
    seesChange: `(${seesRow}${among(isOfLimited)})`,
  };
}

/**
 * Whether the viewer sees a change `c`. The audiences are those at the time of the change. Roles are those of now; for a
 * deleted user or group, those at its deletion.
 */
function seesChange({ ofUser, ofGroup, isViewer }: Audiences): string {
  const user = (level: string) => `(${ofUser(level, 'c.user_key')} or (${level} = 1 and exists (
      select from all_changes d
      where d.user_key = c.user_key and d.kind = ${USER_DELETED} and d.audience && ${ADMIN_OF})))`;
  const group = (level: string) => `(${ofGroup(level, 'c.group_key')} or exists (
      select from all_changes d
      where d.group_key = c.group_key and d.kind = ${GROUP_DELETED}
        and ${KEY} = any (case ${level} when 1 then d.audience else d.admin_audience end)))`;
  const members = `(${isViewer('c.user_key')} or ${group('c.members_visible_to')})`;
  const isInside = `case when c.group_key is null then ${user('c.outside_of')} else ${group('c.outside_of')} end`;
  return `(c.user_visible_to = 0 or ${user('c.user_visible_to')})
    and (c.group_visible_to = 0 or ${group('c.group_visible_to')})
    and (c.members_visible_to = 0 or ${members})
    and (c.outside_of = 0 or (${isInside}) is not true)`;
}

/** The numbers of the kinds of changes that record audiences: those of numberOfKind (src/changes/change.model.ts). */
const USER_DELETED = 3;
const GROUP_DELETED = 6;
