import { arraysOf } from '../../common/chunks.js';
import type { DirectoryMapping } from '../../config/model/mapping.js';
import type { Writer } from '../../database/statements/statement.js';
import { type Plan, withoutDeleted } from '../plan/plan.js';
import { carriedFrom, type CarryingStatements, carryingStatements } from './carrying-statements.js';

/** Maximum number of pairs of user and group that are compared individually. Above it, whole groups are. */
const MOST_COMPARED_PLACES = 2000;

interface Place {
  readonly group: number;
  readonly person: number;
}

/** A deleted group and a group that contains it, by key. */
interface GoneNesting {
  readonly outer: number;
  readonly inner: number;
}

/** The columns of the changed roles that others read, without rows. */
const NO_CHANGES = `(
  select null::integer as group_key, null::integer as user_key, null::smallint as role_before, null::smallint as role_after
  where false)`;

/**
 * Keeps `effective_memberships` and the counters consistent with memberships, nestings, people and groups
 * (docs/adr/0007), in the transaction of a plan: `begin` before its rows are written, `finish` afterwards.
 * Only rows that differ are written or locked. The changes stay in a temporary table until the transaction
 * ends or calls `beginNext`. A plan without changes of roles has no table and needs no statement.
 */
export class EffectiveRoles {
  /** Whether there may be changed roles. */
  hasChanges = false;
  private gone: readonly GoneNesting[] = [];

  private constructor(
    private readonly writer: Writer,
    private readonly plan: Plan,
    private readonly statements: CarryingStatements,
  ) {}

  /** Records the memberships of entries that the plan deletes, because they are not known afterwards. */
  static async begin(writer: Writer, plan: Plan, mapping: DirectoryMapping): Promise<EffectiveRoles> {
    const roles = new EffectiveRoles(writer, plan, carryingStatements(mapping));
    const people = plan.deletedPeople.map(({ uuid }) => uuid);
    const groups = plan.deletedGroups.map(({ uuid }) => uuid);
    if (people.length + groups.length > 0) await roles.add(LOST, [people, groups]);
    if (groups.length > 0) roles.gone = await writer.query<GoneNesting[]>(GONE, [groups]);
    return roles;
  }

  /** The same for a transaction that may have applied another plan before. */
  static async beginNext(writer: Writer, plan: Plan, mapping: DirectoryMapping): Promise<EffectiveRoles> {
    await writer.query('drop table if exists effective_changes');
    return EffectiveRoles.begin(writer, plan, mapping);
  }

  /** SQL for the changed roles: `group_key`, `user_key`, `role_before` and `role_after`. */
  get changes(): string {
    return this.hasChanges ? 'effective_changes' : NO_CHANGES;
  }

  /** @param groups the entryUUIDs of the groups whose members and nested groups change; null: those of the plan */
  async finish(groups: readonly string[] | null = null): Promise<void> {
    const { plan, statements, writer } = this;
    if (groups !== null) await this.compareGroups(groups);
    else if (!(await this.comparePlaces())) await this.compareGroups(groupsOf(plan));
    if (this.hasChanges) await writer.query(statements.write);
  }

  /** Updates the columns that memberships duplicate from users and groups, which were not written by applyEntries. */
  async carry(): Promise<void> {
    const { plan, statements, writer } = this;
    const { updatedPeople, updatedGroups } = plan;
    if (updatedPeople.length > 0)
      await writer.query(carriedFrom(statements.people), [updatedPeople.map(({ value }) => value.uuid)]);
    if (updatedGroups.length > 0)
      await writer.query(carriedFrom(statements.groups), [updatedGroups.map(({ value }) => value.uuid)]);
  }

  private async add(select: string, values: unknown[]): Promise<void> {
    await this.writer.query(`${this.hasChanges ? INSERT : CREATE} ${select}`, values);
    this.hasChanges = true;
  }

  /**
   * Compares the pairs whose role may have changed.
   * @returns false if there are too many
   */
  private async comparePlaces(): Promise<boolean> {
    const { gone } = this;
    const memberships = withoutDeleted(this.plan, 'memberships');
    const nestings = withoutDeleted(this.plan, 'nestings');
    if (memberships.length > MOST_COMPARED_PLACES) return false;
    if (memberships.length + nestings.length + gone.length === 0) return true;
    if (nestings.length + gone.length === 0) {
      await this.add(IN_NAMED_PLACES, arraysOf(memberships, 'group', 'subject'));
      return true;
    }
    const touched: Place[] = await this.writer.query(touchedPlaces(this.changes), [
      ...arraysOf(memberships, 'group', 'subject'),
      ...arraysOf(nestings, 'group', 'subject'),
      ...arraysOf(gone, 'outer', 'inner'),
    ]);
    if (touched.length > MOST_COMPARED_PLACES) return false;
    if (touched.length > 0) await this.add(IN_PLACES, arraysOf(touched, 'group', 'person'));
    return true;
  }

  private async compareGroups(groups: readonly string[]): Promise<void> {
    await this.add(IN_GROUPS, [groups, this.gone.map(({ outer }) => outer)]);
    await this.writer.query('analyze effective_changes');
  }
}

function groupsOf({ memberships, nestings }: Plan): string[] {
  return [...new Set([...memberships, ...nestings].map(({ group }) => group))];
}

const CREATE = 'create temporary table effective_changes on commit drop as';
const INSERT = 'insert into effective_changes';

/** The memberships that end because people ($1) and groups ($2) are deleted. */
const LOST = `
  select m.group_key, m.user_key, m.role as role_before, null::smallint as role_after, null::smallint as direct_role,
    null::integer[] as inherited_from
  from users u join effective_memberships m on m.user_key = u.key where u.entry_uuid = any ($1::uuid[])
  union
  select m.group_key, m.user_key, m.role, null, null, null
  from groups g join effective_memberships m on m.group_key = g.key where g.entry_uuid = any ($2::uuid[])`;

const GONE = `
  select n.outer_key as outer, n.inner_key as inner
  from groups g join nestings n on n.inner_key = g.key where g.entry_uuid = any ($1::uuid[])`;

/**
 * Users ($2) in the groups ($1) that name them or no longer do; users of a group ($4) in the group ($3) that
 * names it or no longer does; former users of a deleted group ($6) in the group ($5) that contained it.
 */
const touchedPlaces = (changes: string) => `
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
  join ${changes} c on c.group_key = gone.inner_key join users u on u.key = c.user_key
  limit ${MOST_COMPARED_PLACES + 1}`;

/**
 * Compares the roles that follow from `claims` with the rows of `present`. A claim is one path by which a
 * user belongs to a group: the group names the user, or the path leads through a directly nested group
 * (`via`), whose role applies.
 */
function compare(tables: string): string {
  return `
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
  select group_key, user_key, present.role as role_before, wanted.role as role_after, wanted.direct_role,
    wanted.inherited_from
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
const inPlaces = (touched: string) =>
  compare(`
  affected (group_key, user_key) as (
    ${touched}
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

const IN_PLACES = inPlaces('select * from unnest($1::integer[], $2::integer[])');

/** The same with the entryUUIDs of groups ($1) and users ($2). */
const IN_NAMED_PLACES = inPlaces(`
    select g.key, u.key from unnest($1::uuid[], $2::uuid[]) as named (group_uuid, user_uuid)
      join groups g on g.entry_uuid = named.group_uuid join users u on u.entry_uuid = named.user_uuid`);
