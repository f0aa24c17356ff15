import type { DirectoryMapping } from '../../config/model/mapping.js';
import { carriedColumns } from '../../database/fields/projection.js';
import type { Writer } from '../../database/statements/statement.js';
import { NAMED_GROUPS } from '../map/map.js';
import { NAMED_AS_ADMIN, NAMED_AS_OWNER, namedByAny } from '../../sources/references.js';
import { MEMBERS } from './staged-entry.js';

/** Above this number of users, the memberships of whole groups are computed. */
const MOST_USERS = 5000;

/** SQL for the rank of a naming: see rankOfNaming. */
function rankIn(namedAs: string): string {
  const isNamedAs = (role: number) => `${namedAs} & ${namedByAny(role)} > 0`;
  return `case when ${isNamedAs(NAMED_AS_OWNER)} then 3::smallint when ${isNamedAs(NAMED_AS_ADMIN)} then 2::smallint else 1::smallint end`;
}

/** SQL for the groups, the users or groups that they name directly, and the rank; if it is limited, of the members of touched pairs. */
function named(usersName: boolean, isLimited: boolean): string {
  const limit = (member: string) =>
    isLimited ? `and ${member} in (select member_key from touched_pairs)` : '';
  const byGroups = `
    select r.from_key as group_key, n.key as member_key, ${rankIn('r.named_as')} as role
    from "references" r join names n on n.name = r.target
    where r.field = '${MEMBERS}' and r.from_key <> n.key ${limit('n.key')}`;
  if (!usersName) return byGroups;
  return `${byGroups}
    union all
    select n.key, r.from_key, 1::smallint from "references" r join names n on n.name = r.target
    where r.field = '${NAMED_GROUPS}' ${limit('r.from_key')}`;
}

/**
 * Notes the groups, and those whom they name, between whom something may change: what groups name otherwise, and names that
 * another entry has. It is called with the former names and references, and again with the present names and the former references.
 */
export async function noteTouchedPairs(writer: Writer, usersName: boolean): Promise<void> {
  const isOther = (others: string) => `not exists (select from ${others}
      and o.field = r.field and o.target = r.target and o.named_as = r.named_as)`;
  const select = (field: string, pair: (from: string) => string) => `
    select ${pair('r.from_key')} from "references" r join staged s on s.key = r.from_key join names n on n.name = r.target
    where r.field = '${field}' and ${isOther('staged_references o where o.uuid = s.uuid')}
    union
    select ${pair('s.key')} from staged_references r join staged s on s.uuid = r.uuid join names n on n.name = r.target
    where r.field = '${field}' and s.key is not null and ${isOther('"references" o where o.from_key = s.key')}
    union
    select ${pair('r.from_key')} from moved_names m join "references" r on r.target = m.name join names n on n.name = r.target
    where r.field = '${field}'`;
  const ofGroups = select(MEMBERS, (from) => `${from}, n.key`);
  const ofUsers = select(NAMED_GROUPS, (from) => `n.key, ${from}`);
  await writer.query(`insert into touched_pairs ${usersName ? `${ofGroups} union ${ofUsers}` : ofGroups}`);
}

/** Nestings that end with the groups inside. */
export async function noteLostNestings(writer: Writer): Promise<void> {
  await writer.query(`
    insert into changed_nestings (outer_key, inner_key, change, visible_to, role_before)
    select n.outer_key, n.inner_key, 'deleted', f.visible_to, n.role from nestings n join former f on f.key = n.inner_key
    where f.is_gone and not exists (select from former o where o.key = n.outer_key and o.is_gone)`);
}

/** Memberships that end with users or groups, with which they are deleted. */
export async function noteLostMemberships(writer: Writer): Promise<void> {
  await writer.query(`
    insert into effective_changes (group_key, user_key, role_before, direct_before)
    select m.group_key, m.user_key, m.role, m.direct_role
    from former f join effective_memberships m on m.user_key = f.key where f.is_gone
    union
    select m.group_key, m.user_key, m.role, m.direct_role
    from former f join effective_memberships m on m.group_key = f.key where f.is_gone`);
}

/** Writes the nestings of the touched pairs, after references and names are written. */
async function writeNestings(writer: Writer, isFirst: boolean): Promise<void> {
  const pairs = isFirst
    ? `select r.from_key as outer_key, n.key as inner_key from "references" r join names n on n.name = r.target
         join groups i on i.key = n.key where r.field = '${MEMBERS}' and r.from_key <> n.key group by 1, 2`
    : `select p.group_key as outer_key, p.member_key as inner_key from touched_pairs p
         join groups o on o.key = p.group_key join groups i on i.key = p.member_key where o.key <> i.key group by 1, 2`;
  await writer.query(`
    with pairs as materialized (${pairs}),
    wanted as (
      select p.outer_key, p.inner_key, max(${rankIn('r.named_as')}) as role
      from pairs p join names n on n.key = p.inner_key
        join "references" r on r.from_key = p.outer_key and r.target = n.name and r.field = '${MEMBERS}'
      group by 1, 2),
    gone as (
      delete from nestings x using pairs p
      where x.outer_key = p.outer_key and x.inner_key = p.inner_key
        and not exists (select from wanted w where w.outer_key = p.outer_key and w.inner_key = p.inner_key)
      returning x.outer_key, x.inner_key, 'deleted', null::smallint),
    written as (
      insert into nestings as x (outer_key, inner_key, role) select * from wanted
      on conflict on constraint nestings_pk do update set role = excluded.role where x.role <> excluded.role
      returning x.outer_key, x.inner_key, case when x.xmax = 0 then 'created' else 'updated' end, x.role)
    insert into changed_nestings (outer_key, inner_key, change, role_after, role_before)
    select c.*, x.role from (select * from gone union all select * from written) c (outer_key, inner_key, change, role)
      left join nestings x using (outer_key, inner_key)`);
}

/** Writes nestings, effective memberships and counters (docs/adr/0007). What changes is in `effective_changes` afterwards. */
export async function writeMemberships(
  writer: Writer,
  mapping: DirectoryMapping,
  isFirst: boolean,
): Promise<void> {
  const usersName = mapping.users.memberOf !== undefined;
  await writer.query('analyze touched_pairs');
  await writeNestings(writer, isFirst);
  if (!isFirst) await noteCandidates(writer);
  const [found] = await writer.query<{ pairs: number; users: number }[]>(
    `select count(*)::integer as pairs, count(distinct member_key)::integer as users from touched_pairs`,
  );
  const { pairs = 0, users = 0 } = found ?? {};
  const isLimited = !isFirst && users <= MOST_USERS;
  if (isFirst || pairs > 0) await writer.query(compare(named(usersName, isLimited), isFirst, isLimited));
  await writer.query('analyze effective_changes');
  await writer.query(writeStatement(mapping));
}

/** Replaces the touched pairs by those of groups and users: also users who were inside a group that is nested otherwise. */
async function noteCandidates(writer: Writer): Promise<void> {
  await writer.query(`
    with users_of as (
      select c.outer_key as group_key, m.user_key as member_key
      from changed_nestings c join effective_memberships m on m.group_key = c.inner_key
      union
      select c.outer_key, l.user_key from changed_nestings c join effective_changes l on l.group_key = c.inner_key
    )
    insert into touched_pairs select * from users_of`);
  await writer.query(`
    delete from touched_pairs p where not exists (select from users u where u.key = p.member_key)
      or not exists (select from groups g where g.key = p.group_key);
    analyze touched_pairs; analyze changed_nestings`);
}

/**
 * Compares the roles that follow from `claims` with the present rows. A claim is one way by which a user belongs to a group: the group
 * names the user, or the way leads through a directly nested group (`via`), whose role applies. `reach` follows every way inward,
 * once for each directly nested group. A way never returns to its first group, which breaks cycles.
 * @param isFirst whether all groups are compared, and not the touched ones and those around them
 * @param isLimited whether only the touched users are compared
 */
function compare(direct: string, isFirst: boolean, isLimited: boolean): string {
  const affected = isFirst
    ? 'select key from groups'
    : `select group_key from touched_pairs
         union
         select n.outer_key from nestings n join affected a on a.group_key = n.inner_key`;
  const present = `
    select m.* from effective_memberships m join affected a on a.group_key = m.group_key
    ${isLimited ? 'where m.user_key in (select member_key from touched_pairs)' : ''}`;
  return `
  insert into effective_changes (group_key, user_key, role_before, role_after, direct_before, direct_role, inherited_from)
  with recursive affected (group_key) as (${affected}),
  reach (group_key, via, role, inner_key) as (
    select n.outer_key, n.inner_key, n.role, n.inner_key from nestings n join affected a on a.group_key = n.outer_key
    union
    select r.group_key, r.via, r.role, n.inner_key
    from reach r join nestings n on n.outer_key = r.inner_key and n.inner_key <> r.group_key
  ),
  named as not materialized (${direct}),
  claims (group_key, user_key, role, direct_role, via) as (
    select d.group_key, d.member_key, d.role, d.role, null::integer from affected a join named d on d.group_key = a.group_key
    union all
    select r.group_key, d.member_key, r.role, null, r.via from reach r join named d on d.group_key = r.inner_key
  ),
  ranked as (
    select c.*, max(c.role) over member as highest, max(c.direct_role) over member as direct
    from claims c join users u on u.key = c.user_key
    window member as (partition by c.group_key, c.user_key)
  ),
  wanted as (
    select group_key, user_key, highest as role, direct as direct_role,
      coalesce(
        array_agg(distinct via order by via) filter (where role = highest and direct is distinct from highest), '{}'
      ) as inherited_from
    from ranked group by group_key, user_key, highest, direct
  ),
  present as (${present})
  select group_key, user_key, present.role, wanted.role, present.direct_role, wanted.direct_role, wanted.inherited_from
  from wanted full join present using (group_key, user_key)
  where (wanted.role, wanted.direct_role, wanted.inherited_from)
    is distinct from (present.role, present.direct_role, present.inherited_from)`;
}

/** SQL for what memberships carry of users and groups, by their columns. */
function carriedOf({ users, groups }: DirectoryMapping) {
  const prefixed = (prefix: string, columns: Record<string, string>) =>
    Object.fromEntries(Object.entries(columns).map(([name, sql]) => [`${prefix}${name}`, sql]));
  const ofUser = { ...carriedColumns(users.fields, 'u'), visible_to: 'u.visible_to' };
  const ofGroup = {
    ...carriedColumns(groups.fields, 'g'),
    visible_to: 'g.visible_to',
    members_visible_to: 'g.members_visible_to',
  };
  return { user: prefixed('user_', ofUser), group: prefixed('group_', ofGroup) };
}

/** Updates what memberships carry of the staged users and groups. Only rows in which a value differs are written. */
export async function carry(writer: Writer, mapping: DirectoryMapping): Promise<void> {
  for (const [noun, columns] of Object.entries(carriedOf(mapping))) {
    const alias = noun.charAt(0);
    const names = Object.keys(columns);
    const isJson = (name: string) => name.endsWith('field_values');
    const compared = (list: readonly string[]) =>
      list.map((sql, index) => (isJson(names[index] ?? '') ? `(${sql})::text` : sql)).join(', ');
    await writer.query(`
      update effective_memberships m set ${names.map((name) => `${name} = ${columns[name] ?? ''}`).join(', ')}
      from staged s join ${noun}s ${alias} on ${alias}.key = s.key
      where m.${noun}_key = ${alias}.key and s.is_changed
        and (${compared(names.map((name) => `m.${name}`))}) is distinct from (${compared(Object.values(columns))})`);
  }
}

/** One statement: its parts change different rows. Rows are inserted in the order of the widest index, which is faster. */
function writeStatement(mapping: DirectoryMapping): string {
  const { user, group } = carriedOf(mapping);
  const carried = { ...user, ...group };
  return `
  with gone as (
    delete from effective_memberships m using effective_changes c
    where m.group_key = c.group_key and m.user_key = c.user_key and c.role_after is null
  ),
  changed as (
    update effective_memberships m
    set role = c.role_after, direct_role = c.direct_role, inherited_from = c.inherited_from
    from effective_changes c
    where m.group_key = c.group_key and m.user_key = c.user_key and c.role_before is not null and c.role_after is not null
  ),
  added as (
    insert into effective_memberships
      (group_key, user_key, role, direct_role, inherited_from, ${Object.keys(carried).join(', ')})
    select c.group_key, c.user_key, c.role_after, c.direct_role, c.inherited_from, ${Object.values(carried).join(', ')}
    from effective_changes c join users u on u.key = c.user_key join groups g on g.key = c.group_key
    where c.role_before is null
    order by c.group_key, u.sort_name, c.user_key
  ),
  counted as (
    update groups g set member_count = g.member_count + c.more
    from (select group_key, count(role_after) - count(role_before) as more from effective_changes group by group_key) c
    where g.key = c.group_key and c.more <> 0
  )
  update users u set group_count = u.group_count + c.more
  from (select user_key, count(role_after) - count(role_before) as more from effective_changes group by user_key) c
  where u.key = c.user_key and c.more <> 0`;
}
