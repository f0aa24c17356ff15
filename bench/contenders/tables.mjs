// The directory in two schemas of the others: in ordinary tables, and in tables like those of the service, with the rows of a page in
// the order of an index and counts that are kept. Memberships are already resolved through nested groups.

const ORDINARY = [
  'create schema ordinary',
  `create table ordinary.people as
   select key, id, name, sort_name, school_year, photo is not null as has_photo from public.users order by key`,
  'create table ordinary.groups as select key, id, name from public.groups order by key',
  `create table ordinary.memberships as
   select group_key, user_key as person_key, role from public.effective_memberships order by group_key, user_key`,
  'alter table ordinary.people add primary key (key)',
  'alter table ordinary.people add unique (id)',
  'alter table ordinary.groups add primary key (key)',
  'alter table ordinary.groups add unique (id)',
  'alter table ordinary.memberships add primary key (group_key, person_key)',
  'alter table ordinary.memberships add foreign key (group_key) references ordinary.groups',
  'alter table ordinary.memberships add foreign key (person_key) references ordinary.people',
  'create index memberships_by_person on ordinary.memberships (person_key, group_key)',
];

const LIKE_FOR_LIKE = [
  'create schema read_model',
  `create table read_model.people as
   select key, id, name, school_year, photo is not null as has_photo, group_count from public.users order by key`,
  'create table read_model.groups as select key, id, name, member_count from public.groups order by key',
  `create table read_model.members as
   select m.group_key, u.sort_name, u.key as person_key, m.role, u.id as person_id, u.name, u.school_year,
     u.photo is not null as has_photo
   from public.effective_memberships m join public.users u on u.key = m.user_key order by 1, 2, 3`,
  `create table read_model.groups_of_people as
   select m.user_key as person_key, g.sort_name, g.key as group_key, m.role, g.id as group_id, g.name as group_name
   from public.effective_memberships m join public.groups g on g.key = m.group_key order by 1, 2, 3`,
  'alter table read_model.people add primary key (key)',
  'alter table read_model.people add unique (id)',
  'alter table read_model.groups add primary key (key)',
  'alter table read_model.groups add unique (id)',
  'alter table read_model.members add primary key (group_key, sort_name, person_key)',
  'alter table read_model.members add foreign key (group_key) references read_model.groups',
  'alter table read_model.groups_of_people add primary key (person_key, sort_name, group_key)',
  'alter table read_model.groups_of_people add foreign key (person_key) references read_model.people',
];

/** @param {import('pg').Client} connection to the database of a service that has the directory */
export async function fillTables(connection) {
  for (const statement of [...ORDINARY, ...LIKE_FOR_LIKE]) await connection.query(statement);
  await connection.query('vacuum analyze');
}
