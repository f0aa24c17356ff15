import { arraysOf } from '../../common/chunks.js';
import type { DirectoryMapping } from '../../config/model/mapping.js';
import type { Writer } from '../../database/statements/statement.js';
import type { Plan } from '../plan/plan.js';
import { type CarryingStatements, carryingStatements } from './carrying-statements.js';

/** Maximum number of pairs of user and group that are compared individually. Above it, whole groups are. */
const FEW = 2000;

interface Place {
  readonly group: number;
  readonly person: number;
}

/** A deleted group and a group that contains it, by key. */
interface GoneNesting {
  readonly outer: number;
  readonly inner: number;
}

/**
 * Keeps `effective_memberships` and the counters consistent with memberships, nestings, people and groups
 * (docs/adr/0007), in the transaction of a plan: `begin` before its rows are written, `finish` afterwards.
 * Only rows that differ are written or locked. The changes stay in the temporary table `effective_changes`
 * until the transaction ends or calls `begin` again.
 */
export class EffectiveRoles {
  private constructor(
    private readonly writer: Writer,
    private readonly statements: CarryingStatements,
    private readonly gone: readonly GoneNesting[],
  ) {}

  /** Records the memberships of entries that the plan deletes, because they are not known afterwards. */
  static async begin(writer: Writer, plan: Plan, mapping: DirectoryMapping): Promise<EffectiveRoles> {
    const people = plan.deletedPeople.map(({ uuid }) => uuid);
    const groups = plan.deletedGroups.map(({ uuid }) => uuid);
    // If one transaction applies several plans, the table exists already.
    await writer.query(EFFECTIVE_CHANGES);
    await writer.query('delete from effective_changes');
    if (people.length + groups.length > 0) await writer.query(LOST, [people, groups]);
    const gone: GoneNesting[] = groups.length === 0 ? [] : await writer.query(GONE, [groups]);
    return new EffectiveRoles(writer, carryingStatements(mapping), gone);
  }

  async finish(plan: Plan): Promise<void> {
    const touched = await this.listTouched(plan);
    if (touched === null) await this.compareGroups(plan);
    else if (touched.length > 0) await this.writer.query(IN_PLACES, arraysOf(touched, 'group', 'person'));
    for (const statement of this.statements.write) await this.writer.query(statement);
    await this.carry(plan);
  }

  /**
   * Returns the pairs whose role may have changed, without the outer groups, or null if there are too many.
   */
  private async listTouched({ memberships, nestings }: Plan): Promise<Place[] | null> {
    if (memberships.length > FEW) return null;
    if (memberships.length + nestings.length + this.gone.length === 0) return [];
    const touched: Place[] = await this.writer.query(TOUCHED, [
      ...arraysOf(memberships, 'group', 'subject'),
      ...arraysOf(nestings, 'group', 'subject'),
      ...arraysOf(this.gone, 'outer', 'inner'),
    ]);
    return touched.length > FEW ? null : touched;
  }

  private async compareGroups({ memberships, nestings }: Plan): Promise<void> {
    const named = new Set([...memberships, ...nestings].map(({ group }) => group));
    await this.writer.query(IN_GROUPS, [[...named], this.gone.map(({ outer }) => outer)]);
    await this.writer.query('analyze effective_changes');
  }

  /** Updates the columns that memberships duplicate from changed people and groups. */
  private async carry({ updatedPeople, updatedGroups }: Plan): Promise<void> {
    if (updatedPeople.length > 0)
      await this.writer.query(this.statements.carryPeople, [updatedPeople.map(({ value }) => value.uuid)]);
    if (updatedGroups.length > 0)
      await this.writer.query(this.statements.carryGroups, [updatedGroups.map(({ value }) => value.uuid)]);
  }
}

const EFFECTIVE_CHANGES = `
  create temporary table if not exists effective_changes (
    group_key integer not null,
    user_key integer not null,
    role_before smallint,
    role_after smallint,
    direct_role smallint,
    inherited_from integer[]
  ) on commit drop`;

/** The memberships that end because people ($1) and groups ($2) are deleted. */
const LOST = `
  insert into effective_changes (group_key, user_key, role_before)
  select m.group_key, m.user_key, m.role
  from users u join effective_memberships m on m.user_key = u.key where u.entry_uuid = any ($1::uuid[])
  union
  select m.group_key, m.user_key, m.role
  from groups g join effective_memberships m on m.group_key = g.key where g.entry_uuid = any ($2::uuid[])`;

const GONE = `
  select n.outer_key as outer, n.inner_key as inner
  from groups g join nestings n on n.inner_key = g.key where g.entry_uuid = any ($1::uuid[])`;

/**
 * Users ($2) in the groups ($1) that name them or no longer do; users of a group ($4) in the group ($3) that
 * names it or no longer does; former users of a deleted group ($6) in the group ($5) that contained it.
 */
const TOUCHED = `
  select g.key as group, u.key as person
  from unnest($1::uuid[], $2::uuid[]) as named (group_uuid, user_uuid)
  join groups g on g.entry_uuid = named.group_uuid join users u on u.entry_uuid = named.user_uuid
  union all
  select o.key, m.user_key
  from unnest($3::uuid[], $4::uuid[]) as nested (outer_uuid, inner_uuid)
  join groups o on o.entry_uuid = nested.outer_uuid join groups i on i.entry_uuid = nested.inner_uuid
  join effective_memberships m on m.group_key = i.key
  union all
  select o.key, u.key
  from unnest($5::integer[], $6::integer[]) as gone (outer_key, inner_key)
  join groups o on o.key = gone.outer_key
  join effective_changes c on c.group_key = gone.inner_key join users u on u.key = c.user_key
  limit ${FEW + 1}`;

/**
 * Compares the roles that follow from `claims` with the rows of `present`. A claim is one path by which a
 * user belongs to a group: the group names the user, or the path leads through a directly nested group
 * (`via`), whose role applies.
 */
function compare(tables: string): string {
  return `
  insert into effective_changes (group_key, user_key, role_before, role_after, direct_role, inherited_from)
  with recursive ${tables},
  ranked as (
    select c.*, max(c.role) over person as highest, max(c.direct_role) over person as direct
    from claims c window person as (partition by c.group_key, c.user_key)
  ),
  wanted as (
    select group_key, user_key, highest as role, direct as direct_role,
      coalesce(
        array_agg(distinct via order by via) filter (where role = highest and direct is distinct from highest), '{}'
      ) as inherited_from
    from ranked
    group by group_key, user_key, highest, direct
  )
  select group_key, user_key, present.role, wanted.role, wanted.direct_role, wanted.inherited_from
  from wanted full join present using (group_key, user_key)
  where (wanted.role, wanted.direct_role, wanted.inherited_from)
    is distinct from (present.role, present.direct_role, present.inherited_from)`;
}

/**
 * Compares the roles of all users in the groups with the entryUUIDs $1 and the keys $2, and in all groups
 * that contain these. `reach` follows every path inward, once for each directly nested group. A path never
 * returns to its first group, which breaks cycles.
 */
const IN_GROUPS = compare(`
  affected (group_key) as (
    select key from groups where entry_uuid = any ($1::uuid[]) or key = any ($2::integer[])
    union
    select n.outer_key from nestings n join affected a on a.group_key = n.inner_key
  ),
  reach (group_key, via, role, inner_key) as (
    select n.outer_key, n.inner_key, n.role, n.inner_key
    from nestings n join affected a on a.group_key = n.outer_key
    union
    select r.group_key, r.via, r.role, n.inner_key
    from reach r join nestings n on n.outer_key = r.inner_key and n.inner_key <> r.group_key
  ),
  claims (group_key, user_key, role, direct_role, via) as (
    select m.group_key, m.user_key, m.role, m.role, null::integer
    from memberships m join affected a on a.group_key = m.group_key
    union all
    select r.group_key, m.user_key, r.role, null, r.via
    from reach r join memberships m on m.group_key = r.inner_key
  ),
  present as (select m.* from effective_memberships m join affected a on a.group_key = m.group_key)`);

/**
 * Compares the roles of single users ($2) in groups ($1), and in all groups that contain these. `walk` goes
 * from the groups that name a user outward, never through the group whose role is computed.
 */
const IN_PLACES = compare(`
  affected (group_key, user_key) as (
    select touched.group_key, touched.user_key
    from unnest($1::integer[], $2::integer[]) as touched (group_key, user_key)
    union
    select n.outer_key, a.user_key from nestings n join affected a on a.group_key = n.inner_key
  ),
  walk (group_key, user_key, inner_key) as (
    select a.group_key, a.user_key, m.group_key
    from affected a join memberships m on m.user_key = a.user_key and m.group_key <> a.group_key
    union
    select w.group_key, w.user_key, n.outer_key
    from walk w join nestings n on n.inner_key = w.inner_key and n.outer_key <> w.group_key
  ),
  claims (group_key, user_key, role, direct_role, via) as (
    select m.group_key, m.user_key, m.role, m.role, null::integer
    from affected a join memberships m on m.group_key = a.group_key and m.user_key = a.user_key
    union all
    select w.group_key, w.user_key, n.role, null, n.inner_key
    from walk w join nestings n on n.outer_key = w.group_key and n.inner_key = w.inner_key
  ),
  present as (
    select m.* from affected a
    join effective_memberships m on m.group_key = a.group_key and m.user_key = a.user_key
  )`);
