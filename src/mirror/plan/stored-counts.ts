import type { Writer } from '../../database/statements/statement.js';
import type { Counts } from './deletion-guard.js';

/** Returns the numbers of mirrored users and groups. */
export async function countStored(manager: Writer): Promise<Omit<Counts, 'memberships'>> {
  const [counts]: Counts[] = await manager.query(
    'select user_count as people, group_count as groups from mirror_state',
  );
  return counts ?? { people: 0, groups: 0 };
}

/**
 * Counts the rows that the deletion guard protects, and what revisions that were not confirmed have deleted since an instant.
 * @param removals the number of memberships that a plan removes
 * @param percent the share that may be deleted: memberships are counted only as far as the result depends on them
 */
export async function countForGuard(
  manager: Writer,
  since: Date,
  removals: number,
  percent: number,
): Promise<{ stored: Counts; recentlyDeleted: Counts }> {
  const [row]: { stored: Counts; recentlyDeleted: Counts }[] = await manager.query(COUNT_FOR_GUARD, [
    since,
    removals,
    percent,
  ]);
  if (row === undefined) throw new Error('The mirror has no state');
  return row;
}

const COUNT_FOR_GUARD = `
  with recent as (
    select coalesce(sum(users_deleted), 0)::integer as people, coalesce(sum(groups_deleted), 0)::integer as groups,
      coalesce(sum(memberships_removed), 0)::integer as memberships
    from revisions where applied_at > $1 and not confirmed
  ),
  stored as (
    select user_count as people, group_count as groups, (
      select count(*)::integer from (
        select from memberships
        limit (select ceil(($2::integer + r.memberships) * 100.0 / nullif($3::float8, 0))::bigint + 1 from recent r)
      ) m) as memberships
    from mirror_state
  )
  select to_json(stored) as stored, to_json(recent) as "recentlyDeleted" from stored, recent`;
