// The directory in ordinary tables: users, groups, memberships, and an index for each access path.

/** Memberships are already resolved through nested groups. */
const STATEMENTS = [
  'create schema ordinary',
  `create table ordinary.people (
     key integer primary key,
     id text not null unique,
     name text not null,
     sort_name text collate "C" not null,
     email text,
     school_year text,
     has_photo boolean not null,
     search_text text collate "C" not null
   )`,
  `create table ordinary.groups (
     key integer primary key,
     id text not null unique,
     name text not null,
     sort_name text collate "C" not null,
     search_text text collate "C" not null
   )`,
  `create table ordinary.memberships (
     group_key integer not null,
     person_key integer not null,
     role smallint not null
   )`,
  `insert into ordinary.people
   select key, id, name, sort_name, email, school_year, photo is not null, search_text from public.users order by key`,
  `insert into ordinary.groups select key, id, name, sort_name, search_text from public.groups order by key`,
  `insert into ordinary.memberships
   select group_key, user_key, role from public.effective_memberships order by group_key, user_key`,
  'alter table ordinary.memberships add primary key (group_key, person_key)',
  // The same in the order of pages, with an index for it.
  `create table ordinary.ordered_memberships as
   select m.group_key, p.sort_name, m.person_key, m.role
   from ordinary.memberships m join ordinary.people p on p.key = m.person_key order by 1, 2, 3`,
  'alter table ordinary.ordered_memberships add primary key (group_key, sort_name, person_key)',
  'create index memberships_by_person on ordinary.memberships (person_key, group_key)',
  'alter table ordinary.memberships add foreign key (group_key) references ordinary.groups',
  'alter table ordinary.memberships add foreign key (person_key) references ordinary.people',
  'create index people_search on ordinary.people using gin (search_text public.gin_trgm_ops)',
  'create index groups_search on ordinary.groups using gin (search_text public.gin_trgm_ops)',
];

/** Users and groups by part of a name or id, best match first, like the search of the service; $1 is the text in lower case. */
export const SEARCH = `
  select kind, id, name from (
    select 0 as kind, u.key, u.id, u.name, u.sort_name,
      case when u.id = $1 then 0 when u.sort_name like $1 || '%' then 1
        when u.search_text like '% ' || $1 || '%' then 2 else 3 end as distance
    from ordinary.people u where u.search_text like '%' || $1 || '%'
    union all
    select 1, g.key, g.id, g.name, g.sort_name,
      case when g.id = $1 then 0 when g.sort_name like $1 || '%' then 1
        when g.search_text like '% ' || $1 || '%' then 2 else 3 end
    from ordinary.groups g where g.search_text like '%' || $1 || '%'
  ) found order by distance, sort_name, kind, key`;

/** @param {import('pg').Client} connection to a database with the filled tables of the service */
export async function fillOrdinaryTables(connection) {
  for (const statement of STATEMENTS) await connection.query(statement);
  await connection.query(`
    create function ordinary.search(term text) returns table (kind integer, id text, name text)
    language sql stable as $function$ ${SEARCH} $function$`);
  await connection.query('analyze');
}
