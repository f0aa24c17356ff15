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
  // The words only: the service finds the text after the line feed by their beginnings, too.
  `insert into ordinary.people
   select key, id, name, sort_name, email, school_year, photo is not null, split_part(search_text, chr(10), 1)
   from public.users order by key`,
  `insert into ordinary.groups
   select key, id, name, sort_name, split_part(search_text, chr(10), 1) from public.groups order by key`,
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

const word = (position) => `split_part($1, ' ', ${position})`;

const found = (kind, table) => `
    select ${kind} as kind, key, id, name, sort_name,
      case when id = $1 then 0 when sort_name = $1 then 1 when sort_name like $1 || '%' then 2
        when search_text like '% ' || $1 || '%' then 3
        when search_text like '% ' || ${word(1)} || '%' and search_text like '% ' || ${word(2)} || '%' then 4 else 5 end as distance
    from ordinary.${table}
    where search_text like '%' || ${word(1)} || '%' and search_text like '%' || ${word(2)} || '%'`;

/** Users and groups by one or two words, best match first, like the search of the service; $1 is the text in lower case. */
export const SEARCH = `
  select kind, id, name from (${found(0, 'people')} union all ${found(1, 'groups')}
  ) found order by distance, sort_name, kind, key`;

/** @param {import('pg').Client} connection to a database with the filled tables of the service */
export async function fillOrdinaryTables(connection) {
  for (const statement of STATEMENTS) await connection.query(statement);
  await connection.query(`
    create function ordinary.search(term text) returns table (kind integer, id text, name text)
    language sql stable as $function$ ${SEARCH} $function$`);
  await connection.query('analyze');
}
