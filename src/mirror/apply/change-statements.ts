import { ChangeKind, numberOfKind } from '../../changes/change.model.js';

/** The tables whose rows have changes. The SQL below takes the revision as $1, its time as $2 and the kind as $3. */
export type Table = 'users' | 'groups';

export const ENTRIES = { users: recordEntries('users', 'user'), groups: recordEntries('groups', 'group') };

function recordEntries(table: Table, noun: string): string {
  return `
  insert into changes (revision, at, kind, ${noun}_key, ${noun}_id, ${noun}_uuid, id_before, ${noun}_visible_to)
  select $1::integer, $2::timestamptz, $3::smallint, e.key, e.id, e.entry_uuid, given.id_before,
    greatest(e.visible_to, given.visible_to_before)
  from unnest($4::uuid[], $5::text[], $6::integer[], $7::smallint[]) as given (uuid, id_before, place, visible_to_before)
  join ${table} e on e.entry_uuid = given.uuid
  order by given.place, e.key`;
}

export const DELETIONS = { users: recordDeletions('user'), groups: recordDeletions('group') };

function recordDeletions(noun: string): string {
  return `
  insert into changes (revision, at, kind, ${noun}_key, ${noun}_id, ${noun}_uuid, id_folded, ${noun}_visible_to,
    audience, admin_audience)
  select $1::integer, $2::timestamptz, $3::smallint, gone.key, gone.id, gone.uuid, gone.id_folded, gone.visible_to,
    ${audienceOf(noun)}
  from unnest($4::integer[], $5::text[], $6::uuid[], $7::text[], $8::smallint[], $9::boolean[])
    as gone (key, id, uuid, id_folded, visible_to, has_audience)
  order by gone.key`;
}

/** The groups of a deleted user, or the members and admins of a deleted group, if not everyone sees its changes. */
function audienceOf(noun: string): string {
  const [other, columns] = noun === 'user' ? ['group', [1]] : ['user', [1, 2]];
  const keys = (role: number) => `case when gone.has_audience then array(
      select c.${other}_key from effective_changes c where c.${noun}_key = gone.key and c.role_before >= ${role}) end`;
  return [...columns.map(keys), ...(noun === 'user' ? ['null::integer[]'] : [])].join(', ');
}

/** Of a former user or group `f`: a row for those outside the new audience who were inside the old one. */
export const HIDDEN = { users: recordHidden('users', 'user'), groups: recordHidden('groups', 'group') };

function recordHidden(table: Table, noun: string): string {
  return `
  insert into changes (revision, at, kind, ${noun}_key, ${noun}_id, ${noun}_uuid, id_folded, ${noun}_visible_to, outside_of)
  select $1::integer, $2::timestamptz, $3::smallint, f.key, f.id, f.uuid, f.id_folded, f.visible_to, e.visible_to
  from unnest($4::integer[], $5::text[], $6::uuid[], $7::text[], $8::smallint[]) as f (key, id, uuid, id_folded, visible_to)
    join ${table} e on e.key = f.key
  where e.visible_to > f.visible_to
  order by f.key`;
}

/** The opposite: for those inside the new audience who were outside the old one. */
export const REVEALED = { users: recordRevealed('users', 'user'), groups: recordRevealed('groups', 'group') };

function recordRevealed(table: Table, noun: string): string {
  return `
  insert into changes (revision, at, kind, ${noun}_key, ${noun}_id, ${noun}_uuid, ${noun}_visible_to, outside_of)
  select $1::integer, $2::timestamptz, $3::smallint, e.key, e.id, e.entry_uuid, e.visible_to, f.visible_to
  from unnest($4::integer[], $5::smallint[]) as f (key, visible_to) join ${table} e on e.key = f.key
  where e.visible_to < f.visible_to
  order by f.key`;
}

const ROLE_COLUMNS = `
    revision, at, kind, user_key, user_id, user_uuid, group_key, group_id, group_uuid, role_before, role_after,
    user_visible_to, group_visible_to, members_visible_to`;

/** Members who leave a group, with the previous ids. */
export const REMOVALS = `
  insert into changes (${ROLE_COLUMNS})
  select $1::integer, $2::timestamptz, ${numberOfKind(ChangeKind.MEMBER_REMOVED)},
    c.user_key, coalesce(former_user.id, u.id), coalesce(former_user.uuid, u.entry_uuid),
    c.group_key, coalesce(former_group.id, g.id), coalesce(former_group.uuid, g.entry_uuid), c.role_before, c.role_after,
    coalesce(u.visible_to, former_user.visible_to), coalesce(g.visible_to, former_group.visible_to),
    coalesce(g.members_visible_to, former_group.members_visible_to)
  from effective_changes c
  left join users u on u.key = c.user_key
  left join groups g on g.key = c.group_key
  left join unnest($3::integer[], $4::text[], $5::uuid[], $9::smallint[]) as former_user (key, id, uuid, visible_to)
    on former_user.key = c.user_key
  left join unnest($6::integer[], $7::text[], $8::uuid[], $10::smallint[], $11::smallint[])
    as former_group (key, id, uuid, visible_to, members_visible_to) on former_group.key = c.group_key
  where c.role_before is not null and c.role_after is null
  order by c.group_key, c.user_key`;

/**
 * First changed roles, then new members. A role that is only inherited in a different way is not recorded.
 */
export const ROLES = `
  insert into changes (${ROLE_COLUMNS})
  select $1::integer, $2::timestamptz,
    case when c.role_before is null then ${numberOfKind(ChangeKind.MEMBER_ADDED)}
      else ${numberOfKind(ChangeKind.ROLE_CHANGED)} end,
    c.user_key, u.id, u.entry_uuid, c.group_key, g.id, g.entry_uuid, c.role_before, c.role_after,
    u.visible_to, g.visible_to, g.members_visible_to
  from effective_changes c
  join users u on u.key = c.user_key
  join groups g on g.key = c.group_key
  where c.role_after is not null and c.role_before is distinct from c.role_after
  order by c.role_before is null, c.group_key, c.user_key`;
