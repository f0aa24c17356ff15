// A copy of the service's read model for the other contenders: rows in the order of pages, with all columns of a page, and
// counters.

const STATEMENTS = [
  'create schema read_model',
  `create table read_model.people (
     key integer primary key,
     id text not null unique,
     name text not null,
     school_year text,
     has_photo boolean not null,
     group_count integer not null
   )`,
  `create table read_model.groups (
     key integer primary key,
     id text not null unique,
     name text not null,
     member_count integer not null
   )`,
  `create table read_model.members (
     group_key integer not null,
     sort_name text collate "C" not null,
     person_key integer not null,
     role smallint not null,
     person_id text not null,
     name text not null,
     school_year text,
     has_photo boolean not null
   )`,
  `create table read_model.groups_of_people (
     person_key integer not null,
     sort_name text collate "C" not null,
     group_key integer not null,
     role smallint not null,
     group_id text not null,
     group_name text not null
   )`,
  `insert into read_model.people
   select key, id, name, school_year, photo is not null, group_count from public.users order by key`,
  'insert into read_model.groups select key, id, name, member_count from public.groups order by key',
  `insert into read_model.members
   select m.group_key, u.sort_name, u.key, m.role, u.id, u.name, u.school_year, u.photo is not null
   from public.effective_memberships m join public.users u on u.key = m.user_key order by 1, 2, 3`,
  `insert into read_model.groups_of_people
   select m.user_key, g.sort_name, g.key, m.role, g.id, g.name
   from public.effective_memberships m join public.groups g on g.key = m.group_key order by 1, 2, 3`,
  'alter table read_model.members add primary key (group_key, sort_name, person_key)',
  'alter table read_model.groups_of_people add primary key (person_key, sort_name, group_key)',
  'alter table read_model.members add foreign key (group_key) references read_model.groups',
  'alter table read_model.groups_of_people add foreign key (person_key) references read_model.people',
  'analyze',
];

/** @param {import('pg').Client} connection to a database with the filled tables of the service */
export async function fillReadModel(connection) {
  for (const statement of STATEMENTS) await connection.query(statement);
}
