import type { Writer } from '../database/writer.js';
import type { Plan } from './plan.js';

/**
 * Keeps `effective_memberships` and the counters true to memberships and nestings, touching only groups that a
 * plan can have changed: those it names, and every group around them. In the plan's transaction, which may have several
 * plans one after another: begin before a plan's rows are written, finish after.
 */
export class EffectiveRoles {
  private constructor(private readonly writer: Writer) {}

  /** Notes what is about to go: afterwards nobody knows where it was. */
  static async begin(writer: Writer, plan: Plan): Promise<EffectiveRoles> {
    await writer.query('create temporary table affected_groups (key integer primary key) on commit drop');
    await writer.query('create temporary table affected_users (key integer primary key) on commit drop');
    const effective = new EffectiveRoles(writer);
    const people = plan.deletedPeople.map(({ uuid }) => uuid);
    const groups = plan.deletedGroups.map(({ uuid }) => uuid);
    if (people.length > 0) {
      await effective.noteGroups(
        `select distinct m.group_key from effective_memberships m join users u on u.key = m.user_key
         where u.entry_uuid = any ($1::uuid[])`,
        [people],
      );
    }
    if (groups.length > 0) {
      await effective.noteGroups(`select key from groups where entry_uuid = any ($1::uuid[])`, [groups]);
      await effective.noteOuterGroups();
      await writer.query(
        `insert into affected_users
         select distinct m.user_key from effective_memberships m join groups g on g.key = m.group_key
         where g.entry_uuid = any ($1::uuid[])`,
        [groups],
      );
    }
    return effective;
  }

  /** Works out the roles anew where they can have changed. */
  async finish(plan: Plan): Promise<void> {
    const named = [...plan.memberships, ...plan.nestings].map(({ group }) => group);
    const people = plan.updatedPeople.map(({ value }) => value.uuid);
    const groups = plan.updatedGroups.map(({ value }) => value.uuid);
    if (named.length > 0) {
      await this.noteGroups(`select key from groups where entry_uuid = any ($1::uuid[])`, [
        [...new Set(named)],
      ]);
    }
    await this.writer.query(
      'delete from affected_groups a where not exists (select from groups g where g.key = a.key)',
    );
    await this.noteOuterGroups();
    await this.recompute();
    await this.rename(people, groups);
    await this.count();
    if (isLongerOrShorter(plan)) await this.countAll();
    await this.writer.query('drop table affected_groups, affected_users, effective_now');
  }

  private async noteGroups(query: string, values: unknown[]): Promise<void> {
    await this.writer.query(`insert into affected_groups ${query} on conflict do nothing`, values);
  }

  private async noteOuterGroups(): Promise<void> {
    await this.noteGroups(
      `with recursive around (key) as (
         select key from affected_groups
         union
         select n.outer_key from nestings n join around on around.key = n.inner_key
       ) select key from around`,
      [],
    );
  }

  private async recompute(): Promise<void> {
    await this.writer.query(`create temporary table effective_now on commit drop as ${EFFECTIVE}`);
    await this.writer.query('create unique index on effective_now (group_key, user_key)');
    await this.writer.query('analyze affected_groups, effective_now');
    await this.noteUsers(`
      delete from effective_memberships m using affected_groups a
      where m.group_key = a.key and not exists (
        select from effective_now n where n.group_key = m.group_key and n.user_key = m.user_key)
      returning m.user_key`);
    await this.noteUsers(`
      insert into effective_memberships as m
        (group_key, user_key, role, direct_role, inherited_from, user_sort_name, group_sort_name)
      select n.group_key, n.user_key, n.role, n.direct_role, n.inherited_from, u.sort_name, g.sort_name
      from effective_now n join users u on u.key = n.user_key join groups g on g.key = n.group_key
      on conflict on constraint effective_memberships_pk do update
        set role = excluded.role, direct_role = excluded.direct_role, inherited_from = excluded.inherited_from
        where (m.role, m.direct_role, m.inherited_from)
          is distinct from (excluded.role, excluded.direct_role, excluded.inherited_from)
      returning m.user_key`);
  }

  private async noteUsers(change: string): Promise<void> {
    await this.writer.query(
      `with changed as (${change}) insert into affected_users select distinct user_key from changed on conflict do nothing`,
    );
  }

  /** Names stand beside the memberships, because pages are ordered by them. */
  private async rename(people: readonly string[], groups: readonly string[]): Promise<void> {
    if (people.length > 0) {
      await this.writer.query(
        `update effective_memberships m set user_sort_name = u.sort_name from users u
         where u.key = m.user_key and u.entry_uuid = any ($1::uuid[]) and m.user_sort_name <> u.sort_name`,
        [people],
      );
    }
    if (groups.length > 0) {
      await this.writer.query(
        `update effective_memberships m set group_sort_name = g.sort_name from groups g
         where g.key = m.group_key and g.entry_uuid = any ($1::uuid[]) and m.group_sort_name <> g.sort_name`,
        [groups],
      );
    }
  }

  private async count(): Promise<void> {
    await this.writer.query('analyze affected_users');
    await this.writer.query(`
      update groups g set member_count = counted.members
      from (select a.key, (select count(*)::integer from effective_memberships m where m.group_key = a.key) as members
            from affected_groups a) counted
      where g.key = counted.key and g.member_count <> counted.members`);
    await this.writer.query(`
      update users u set group_count = counted.groups
      from (select a.key, (select count(*)::integer from effective_memberships m where m.user_key = a.key) as groups
            from affected_users a) counted
      where u.key = counted.key and u.group_count <> counted.groups`);
  }

  /** Locks the one row that has these counters: only where they change, so that previews do not wait for each other. */
  private async countAll(): Promise<void> {
    await this.writer.query(`
      update mirror_state set user_count = (select count(*) from users), group_count = (select count(*) from groups)`);
  }
}

/** Whether there are other people or groups than before. */
function isLongerOrShorter({ createdPeople, deletedPeople, createdGroups, deletedGroups }: Plan): boolean {
  return [createdPeople, deletedPeople, createdGroups, deletedGroups].some((entries) => entries.length > 0);
}

/**
 * The effective roles in the affected groups. `reach` follows every way from an affected group inwards, once for
 * each group directly inside it (`via`); a way never comes back to the group it began at, which is where cycles
 * are cut. Whoever is found on a way holds the role with which its first group is named.
 */
const EFFECTIVE = `
  with recursive reach (outer_key, via, role, inner_key) as (
    select n.outer_key, n.inner_key, n.role, n.inner_key
    from nestings n join affected_groups a on a.key = n.outer_key
    union
    select r.outer_key, r.via, r.role, n.inner_key
    from reach r join nestings n on n.outer_key = r.inner_key
    where n.inner_key <> r.outer_key
  ),
  claims (group_key, user_key, role, direct_role, via) as (
    select m.group_key, m.user_key, m.role, m.role, null::integer
    from memberships m join affected_groups a on a.key = m.group_key
    union all
    select r.outer_key, m.user_key, r.role, null, r.via
    from reach r join memberships m on m.group_key = r.inner_key
  ),
  ranked as (
    select c.*, max(c.role) over person as highest, max(c.direct_role) over person as direct
    from claims c window person as (partition by c.group_key, c.user_key)
  )
  select group_key, user_key, highest as role, direct as direct_role,
    coalesce(
      array_agg(distinct via order by via) filter (where role = highest and direct is distinct from highest), '{}'
    ) as inherited_from
  from ranked
  group by group_key, user_key, highest, direct`;
