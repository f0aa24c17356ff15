import { DataSource } from 'typeorm';
import type { MirrorContents } from './ldap-content.js';
import { type HeldRole, ROLES } from './role-model.js';
import type { TestService } from '../servers/service.js';

type Served = Pick<TestService, 'app'>;

/** Columns of a user: those that renames must keep, and those that they change. */
export interface PersonRow {
  readonly key: number;
  readonly uuid: string;
  readonly dn: string;
  readonly createdAt: string;
  readonly hasPhoto: boolean;
}

/** The rows of the users, by id. */
export async function readPeople({ app }: Served): Promise<Record<string, PersonRow>> {
  const rows: (PersonRow & { id: string })[] = await app.get(DataSource).query(`
    select u.id, u.key, entry_uuid as uuid, e.dn, u.created_at::text as "createdAt", u.photo is not null as "hasPhoto"
    from users u join entries e on e.key = u.key order by u.id`);
  return Object.fromEntries(rows.map(({ id, ...row }) => [id, row]));
}

/** The names of the users, by id. */
export async function readNames({ app }: Served): Promise<Record<string, string>> {
  const rows: { id: string; name: string }[] = await app
    .get(DataSource)
    .query('select id, name from users order by id');
  return Object.fromEntries(rows.map(({ id, name }) => [id, name]));
}

/** Sorted ids. */
export async function readIds({ app }: Served, table: 'users' | 'groups' = 'users'): Promise<string[]> {
  const rows: { id: string }[] = await app.get(DataSource).query(`select id from ${table}`);
  return rows.map(({ id }) => id).sort();
}

/** The members of a group with their roles: «anna MEMBER», sorted. */
export async function readMembers({ app }: Served, group: string): Promise<string[]> {
  const rows: { id: string; role: number }[] = await app.get(DataSource).query(
    `select u.id, m.role from effective_memberships m join users u on u.key = m.user_key
       join groups g on g.key = m.group_key where g.id = $1`,
    [group],
  );
  return rows.map(({ id, role }) => `${id} ${['', 'MEMBER', 'ADMIN', 'OWNER'][role] ?? ''}`).sort();
}

/** The whole mirror, in the form of the expected one. */
export async function readMirror(dataSource: DataSource): Promise<MirrorContents> {
  const people: Record<string, string>[] = await dataSource.query(
    `select entry_uuid as uuid, e.dn, id, name, email, encode(photo, 'hex') as photo from users u join entries e on e.key = u.key`,
  );
  const groups: Record<string, string>[] = await dataSource.query(
    'select entry_uuid as uuid, e.dn, id, name, email, description from groups g join entries e on e.key = g.key',
  );
  const roles: (Ranks & { group: string; person: string })[] = await dataSource.query(`
    select g.id as "group", u.id as person, m.role, m.direct_role as direct,
      array(select i.id from groups i where i.key = any (m.inherited_from)) as "inheritedFrom"
    from effective_memberships m join groups g on g.key = m.group_key join users u on u.key = m.user_key`);
  const held: { uuid: string }[] = await dataSource.query(
    'select uuid from entries where reason is not null order by uuid',
  );
  const byGroup = new Map(groups.map(({ id = '' }): [string, Record<string, HeldRole>] => [id, {}]));
  for (const { group, person, ...ranks } of roles)
    Object.assign(byGroup.get(group) ?? {}, { [person]: heldOf(ranks) });
  return {
    people: byUuid(people),
    groups: byUuid(groups),
    roles: Object.fromEntries(byGroup),
    quarantine: held.map(({ uuid }) => uuid),
  };
}

/** Copies and counters that differ from their source. */
const INCONSISTENCIES = `
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
  select 'audiences', m.user_key from effective_memberships m
    join users u on u.key = m.user_key join groups g on g.key = m.group_key
  where (m.user_visible_to, m.group_visible_to, m.group_members_visible_to)
    is distinct from (u.visible_to, g.visible_to, g.members_visible_to)
  union all
  select 'rows of what is gone', key from (
    select user_key from effective_memberships except select key from users
    union all (select group_key from effective_memberships except select key from groups)
    union all (select outer_key from nestings union select inner_key from nestings except select key from groups)
    union all (select key from names union select from_key from "references" except select key from entries)) gone (key)
  union all
  select 'people or groups', 0 from mirror_state
  where (user_count, group_count) <> ((select count(*) from users), (select count(*) from groups))`;

export async function readInconsistencies(dataSource: DataSource): Promise<unknown[]> {
  return dataSource.query<unknown[]>(INCONSISTENCIES);
}

interface Ranks {
  readonly role: number;
  readonly direct: number | null;
  readonly inheritedFrom: string[];
}

function heldOf({ role, direct, inheritedFrom }: Ranks): HeldRole {
  const nameOf = (rank: number) => ROLES[rank - 1] ?? 'MEMBER';
  return {
    value: nameOf(role),
    direct: direct === null ? null : nameOf(direct),
    inheritedFrom: inheritedFrom.sort(),
  };
}

function byUuid(rows: Record<string, string>[]): MirrorContents['people'] {
  return Object.fromEntries(rows.map(({ uuid = '', ...row }) => [uuid, row]));
}
