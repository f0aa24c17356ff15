import type { DataSource } from 'typeorm';

/** What `fillLargeDirectory` makes. */
export const LARGE = { people: 100_000, groups: 5_000, memberships: 600_000 } as const;

const INDEXED = ['users', 'groups', 'effective_memberships'];

/**
 * Fills a mirror as large as the largest schools have, by SQL: reading a file of that size takes a minute. One
 * group, `group-1`, has a tenth of the people. Names are made of a few syllables, and ten people are called Qxander.
 */
export async function fillLargeDirectory(dataSource: DataSource): Promise<void> {
  const runner = dataSource.createQueryRunner();
  try {
    await runner.query(
      `set statement_timeout = 0; set maintenance_work_mem = '256MB'; set work_mem = '128MB'; set session_replication_role = replica`,
    );
    const indexes = await takeIndexesAway((query) => runner.query(query));
    for (const statement of ROWS) await runner.query(statement);
    for (const statement of indexes) await runner.query(statement);
    await runner.query('vacuum analyze');
  } finally {
    await runner.release();
  }
}

/** Indexes are made faster than they are kept up to date, and references that are true need no checking. */
async function takeIndexesAway(query: (text: string) => Promise<unknown>): Promise<string[]> {
  const indexes = (await query(`
    select indexrelid::regclass::text as name, pg_get_indexdef(indexrelid) as definition from pg_index
    where indrelid::regclass::text in (${INDEXED.map((table) => `'${table}'`).join(', ')}) and not indisunique`)) as {
    name: string;
    definition: string;
  }[];
  for (const { name } of indexes) await query(`drop index ${name}`);
  return indexes.map(({ definition }) => definition);
}

const GIVEN_NAMES =
  'ada anna ben carla dana emil finn greta hanna ida jonas karl lena mia nora otto paul rosa sara tim';
const SYLLABLES = 'ber dor fel gan hol kam lin mar nau pol ros sen tal vos wes zim';
const PAIRS = `array(select distinct substr(search_text, at, 2) from generate_series(1, length(search_text) - 1) at)`;

const ROWS = [
  `insert into users (entry_uuid, dn, dn_key, id, id_folded, name, school_year, sort_name, search_text, search_pairs, content_hash,
     created_at, updated_at, group_count)
   select gen_random_uuid(), 'uid=' || id, gen_random_uuid(), id, id, initcap(name), nullif(1 + n % 12, 12) || chr(65 + n % 5), name,
     search_text, ${PAIRS}, '', now(), timestamptz '2026-01-01' + n * interval '1 second', 6
   from (
     select n, id, name, ' ' || id || ' ' || name as search_text
     from (
       select n, 'person.' || n as id, case when n <= 10 then 'qxander ' else '' end ||
         given[1 + n % 20] || ' ' || part[1 + n / 20 % 16] || part[1 + n / 320 % 16] || part[1 + n / 5120 % 16] as name
       from generate_series(1, ${LARGE.people}) n,
         (select string_to_array('${GIVEN_NAMES}', ' ') as given, string_to_array('${SYLLABLES}', ' ') as part) words
     ) named
   ) searched`,
  `insert into groups (entry_uuid, dn, dn_key, references_hash, id, id_folded, name, sort_name, search_text, search_pairs, content_hash,
     created_at, updated_at)
   select gen_random_uuid(), 'cn=' || id, gen_random_uuid(), '', id, id, initcap(name), name, search_text, ${PAIRS}, '', now(),
     timestamptz '2026-01-01' + n * interval '1 second'
   from (
     select n, id, name, ' ' || id || ' ' || name as search_text
     from (
       select n, 'group-' || n as id, case when n <= 10 then 'qxander ' else '' end || 'club ' || n as name
       from generate_series(1, ${LARGE.groups}) n
     ) identified
   ) named`,
  `insert into nestings (outer_key, inner_key, named_as, role)
   select outer_key, inner_key, 1, 1 from (
     select distinct 1 + n / 10 as outer_key, 2 + n % ${LARGE.groups - 1} as inner_key from generate_series(1, 8000) n
   ) pairs where outer_key <> inner_key`,
  `insert into effective_memberships (group_key, user_key, role, direct_role, inherited_from, user_sort_name, group_sort_name)
   select g.key, u.key, role, case when direct then role end, case when direct then '{}' else array[1 + g.key % 7] end,
     u.sort_name, g.sort_name
   from (
     select case when n <= ${LARGE.people / 10} then 1 else 2 + (n * 7919::bigint % ${LARGE.groups - 1})::integer end as group_key,
       1 + (n * 104729::bigint % ${LARGE.people})::integer as user_key, case when n % 50 = 0 then 3 when n % 10 = 0 then 2 else 1 end as role, n % 3 <> 0 as direct
     from generate_series(1, ${LARGE.memberships}) n
   ) made join users u on u.key = made.user_key join groups g on g.key = made.group_key
   on conflict do nothing`,
  `insert into memberships (group_key, user_key, named_as, role)
   select group_key, user_key, case direct_role when 3 then 4 else direct_role end, direct_role from effective_memberships where direct_role is not null and user_key % 2 = 0`,
  `update groups g set member_count = counted.members
   from (select group_key, count(*) as members from effective_memberships group by group_key) counted where g.key = counted.group_key`,
  `update mirror_state set user_count = ${LARGE.people}, group_count = ${LARGE.groups}`,
];
