import { numberOfKind } from '../../common/change-kind.js';
import type { FieldAudience } from '../../common/field.js';

/** Text of every condition that reads the relation `viewer`, in its alias `v`. */
export const READS_VIEWER = 'from viewer v';

/** Ranks of roles: those of rankOf (src/groups/group.model.ts), which this layer must not import. */
export const ADMIN = 2;
export const OWNER = 3;

/** The kinds of changes that record audiences. */
const USER_DELETED = numberOfKind('USER_DELETED');
const GROUP_DELETED = numberOfKind('GROUP_DELETED');

/** A set, which PostgreSQL hashes once. With an array it looks up each of its groups for each row. */
const LIMITED_GROUPS = '(select unnest(l.groups) from limited l)';
const LIMITED_USERS = `(
    select a.user_key from all_memberships a where a.group_key in (select unnest(l.roots) from limited l))`;

/** The condition that never hides anything. */
export const ALWAYS = 'true';

export type Conditions = ReturnType<typeof conditionsFor>;

/** SQL conditions of visibility (docs/adr/0038), each for rows of an alias. The viewer is read only for rows with a level above 0. */
export function conditionsFor(hasRules: boolean, isLimited: boolean) {
  const byRules = (...levels: readonly Level[]) => (hasRules ? sees(levels) : ALWAYS);
  const within = (rules: string, limit: string) => (isLimited ? `${rules} and ${limit}` : rules);
  const ofLimitedGroup = (m: string) => `${m}.group_key in ${LIMITED_GROUPS}`;
  const isOfLimited = `case when c.group_key is null then c.user_key in ${LIMITED_USERS} else c.group_key in ${LIMITED_GROUPS} end`;
  return {
    seesUser: (u: string) =>
      within(byRules(ofUser(`${u}.visible_to`, `${u}.key`)), `${u}.key in ${LIMITED_USERS}`),
    seesGroup: (g: string) =>
      within(byRules(ofGroup(`${g}.visible_to`, `${g}.key`)), `${g}.key in ${LIMITED_GROUPS}`),
    /** Of a group that the viewer sees. */
    seesMembers: (g: string) => byRules(ofGroup(`${g}.members_visible_to`, `${g}.key`)),
    seesMembership: (m: string) => within(byRules(userOf(m), ...groupOf(m)), ofLimitedGroup(m)),
    /** Of a membership: the user, without the groups to which the viewer is limited. */
    seesItsUser: (m: string) => byRules(userOf(m)),
    /** Of a membership whose user the viewer sees. */
    seesItsGroup: (m: string) => within(byRules(...groupOf(m)), ofLimitedGroup(m)),
    seesItsMembers: (m: string) => byRules(ofGroup(`${m}.group_members_visible_to`, `${m}.group_key`)),
    /** Of a change `c`. For viewers who see everything, it is the one of two that is for those inside an audience. */
    seesChange: within(hasRules ? seesChange() : 'c.outside_of = 0', isOfLimited),
  };
}

/** SQL condition: the viewer belongs to an audience of a field of the user or the group with a key. */
export function isInAudience(audience: FieldAudience, kind: 'user' | 'group', key: string): string {
  const isIn =
    kind === 'group'
      ? `${key} = any (${audience === 'self' ? 'v.owner_of' : 'v.admin_of'})`
      : `${key} = v.key${audience === 'self' ? '' : ` or ${administers(key, 'effective_memberships')}`}`;
  return exists(`v.sees_hidden or ${isIn}`);
}

/** Conditions on levels: audiences of the row that is read. 0: everyone. */
interface Level {
  readonly level: string;
  /** Whether the viewer `v` belongs to the audience if the level is not 0. */
  readonly isInside: string;
}

function ofUser(level: string, user: string): Level {
  return {
    level,
    isInside: `(${user} = v.key or (${level} = 1 and ${administers(user, 'all_memberships')}))`,
  };
}

function ofGroup(level: string, group: string): Level {
  return {
    level,
    isInside: `(${group} = any (v.admin_of) or (${level} = 1 and ${group} = any (v.member_of)))`,
  };
}

function userOf(m: string): Level {
  return ofUser(`${m}.user_visible_to`, `${m}.user_key`);
}

/** Users always see their own memberships of groups that they see, without those that a preview adds through another group. */
function groupOf(m: string): Level[] {
  const { level, isInside } = ofGroup(`${m}.group_members_visible_to`, `${m}.group_key`);
  const isOwn = `(${m}.user_key = v.key and ${m}.group_key = any (v.own_of))`;
  return [
    ofGroup(`${m}.group_visible_to`, `${m}.group_key`),
    { level, isInside: `(${isOwn} or ${isInside})` },
  ];
}

/** One subquery for all levels: PostgreSQL prepares each subquery at every execution, also those that it does not reach. */
function sees(levels: readonly Level[]): string {
  const isOpen = levels.map(({ level }) => `${level} = 0`).join(' and ');
  const isInside = levels.map((each) => `(${each.level} = 0 or ${each.isInside})`).join(' and ');
  return `((${isOpen}) or ${exists(isInside)})`;
}

function exists(condition: string): string {
  return `exists (select ${READS_VIEWER} where ${condition})`;
}

/** Whether the viewer is at least ADMIN in a group of a user, without memberships that a preview adds. */
function administers(user: string, memberships: string): string {
  return `(${user} <> all (v.joined) and exists (
      select from ${memberships} a
      where a.user_key = ${user} and a.group_key in (select unnest(w.admin_of) from viewer w)))`;
}

/** The audiences are those at the time of the change, or narrower ones; roles are those of now, or at the deletion of their group or user. */
function seesChange(): string {
  const user = (level: string): Level => ({
    level,
    isInside: `(${ofUser(level, 'c.user_key').isInside} or (${level} = 1 and exists (
      select from all_changes d
      where d.user_key = c.user_key and d.kind = ${USER_DELETED} and d.audience && v.admin_of)))`,
  });
  const group = (level: string): Level => ({
    level,
    isInside: `(${ofGroup(level, 'c.group_key').isInside} or exists (
      select from all_changes d
      where d.group_key = c.group_key and d.kind = ${GROUP_DELETED}
        and v.key = any (case ${level} when 1 then d.audience else d.admin_audience end)))`,
  });
  const members = group('c.members_visible_to');
  const outside = 'c.outside_of';
  return sees([
    user('c.user_visible_to'),
    group('c.group_visible_to'),
    { ...members, isInside: `(c.user_key = v.key or ${members.isInside})` },
    {
      level: outside,
      isInside: `(case when c.group_key is null then ${user(outside).isInside} else ${group(outside).isInside} end) is not true`,
    },
  ]);
}
