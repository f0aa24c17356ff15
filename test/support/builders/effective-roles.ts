import { DataSource } from 'typeorm';
import type { RandomDirectory } from './random-directory.js';
import { type HeldRole, heldRoles } from './role-model.js';
import type { TestService } from '../servers/service.js';

/** The roles of all users in all groups, by ids of the group and the user. */
export type RolesByGroup = Record<string, Record<string, HeldRole>>;

/** The effective roles that the mirror must have, computed independently. */
export function expectedRoles(directory: RandomDirectory): RolesByGroup {
  const inhabited = [...heldRoles(withoutStrangers(directory))].filter(([, held]) => held.size > 0);
  return Object.fromEntries(inhabited.map(([group, held]) => [group, Object.fromEntries(held)]));
}

/** References to missing entries are ignored. */
export function withoutStrangers({ people, groups }: RandomDirectory): RandomDirectory['groups'] {
  const there = new Set([...people.map(({ id }) => id), ...groups.map(({ id }) => `@${id}`)]);
  const kept = (ids: string[] | undefined) => (ids ?? []).filter((id) => there.has(id));
  return groups.map((group) => ({
    ...group,
    members: kept(group.members),
    admins: kept(group.admins),
    owners: kept(group.owners),
  }));
}

/** Copies and counters that differ from their source. */
export const INCONSISTENCIES = `
  select 'what is carried of a person', m.user_key from effective_memberships m join users u on u.key = m.user_key
  where (m.user_sort_name, m.user_id, m.user_name, m.user_school_year, m.user_has_photo, m.user_has_picture)
    is distinct from (u.sort_name, u.id, u.name, u.school_year, u.photo is not null, u.picture is not null)
  union all
  select 'what is carried of a group', m.group_key from effective_memberships m join groups g on g.key = m.group_key
  where (m.group_sort_name, m.group_id, m.group_name) is distinct from (g.sort_name, g.id, g.name)
  union all
  select 'groups of a person', key from users u
  where group_count <> (select count(*) from effective_memberships m where m.user_key = u.key)
  union all
  select 'members of a group', key from groups g
  where member_count <> (select count(*) from effective_memberships m where m.group_key = g.key)
  union all
  select 'rows of what is gone', key from (
    select user_key from effective_memberships except select key from users
    union all (select group_key from effective_memberships except select key from groups)
    union all (select outer_key from nestings union select inner_key from nestings except select key from groups)
    union all (select key from names union select from_key from "references" except select key from entries)) gone (key)
  union all
  select 'people or groups', 0 from mirror_state
  where (user_count, group_count) <> ((select count(*) from users), (select count(*) from groups))`;

export async function findInconsistencies({ app }: TestService): Promise<unknown[]> {
  return app.get(DataSource).query<unknown[]>(INCONSISTENCIES);
}
