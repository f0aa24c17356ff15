import type { EntityManager } from 'typeorm';
import type { Counts } from './guard.js';
import type { Stored, StoredEntry } from './plan.js';
import type { Rank } from './snapshot.js';

/** What the mirror holds of people and groups: enough to see what has changed. */
export async function readStoredEntries(manager: EntityManager): Promise<Pick<Stored, 'people' | 'groups'>> {
  return { people: await entriesOf(manager, 'users'), groups: await entriesOf(manager, 'groups') };
}

async function entriesOf(
  manager: EntityManager,
  table: 'users' | 'groups',
): Promise<Map<string, StoredEntry>> {
  const rows: StoredEntry[] = await manager.query(
    `select entry_uuid as uuid, id, content_hash as "contentHash" from ${table}`,
  );
  return new Map(rows.map((row) => [row.uuid, row]));
}

/** The direct roles in these groups, of people and of groups inside. */
export async function readStoredRoles(
  manager: EntityManager,
  groups: readonly string[],
): Promise<Pick<Stored, 'members' | 'nested'>> {
  return {
    members: await rolesIn(
      manager,
      groups,
      'memberships r join users s on s.key = r.user_key join groups g on g.key = r.group_key',
    ),
    nested: await rolesIn(
      manager,
      groups,
      'nestings r join groups s on s.key = r.inner_key join groups g on g.key = r.outer_key',
    ),
  };
}

async function rolesIn(
  manager: EntityManager,
  groups: readonly string[],
  from: string,
): Promise<Map<string, Map<string, Rank>>> {
  const roles = new Map<string, Map<string, Rank>>();
  if (groups.length === 0) return roles;
  const rows: { group: string; subject: string; role: Rank }[] = await manager.query(
    `select g.entry_uuid as "group", s.entry_uuid as subject, r.role from ${from} where g.entry_uuid = any ($1::uuid[])`,
    [groups],
  );
  for (const { group, subject, role } of rows) {
    const inGroup = roles.get(group) ?? new Map<string, Rank>();
    inGroup.set(subject, role);
    roles.set(group, inGroup);
  }
  return roles;
}

/** How many rows there are of what the guard watches over. */
export async function countStored(manager: EntityManager): Promise<Counts> {
  const [counts]: Counts[] = await manager.query(`
    select (select user_count from mirror_state) as people, (select group_count from mirror_state) as groups,
      (select count(*)::integer from memberships) as memberships`);
  return counts ?? { people: 0, groups: 0, memberships: 0 };
}

/** What revisions that nobody confirmed have deleted since an instant. */
export async function countRecentlyDeleted(manager: EntityManager, since: Date): Promise<Counts> {
  const [counts]: Counts[] = await manager.query(
    `select coalesce(sum(users_deleted), 0)::integer as people, coalesce(sum(groups_deleted), 0)::integer as groups,
       coalesce(sum(memberships_removed), 0)::integer as memberships
     from revisions where applied_at > $1 and not confirmed`,
    [since],
  );
  return counts ?? { people: 0, groups: 0, memberships: 0 };
}
