// A directory of the size of the largest schools, written by SQL into the tables of the mirror, because reading a file of that
// size takes a minute. It is deterministic, and equal to what the mirror would write.

/**
 * `members` is the average of an ordinary group; sizes range from half of it to one and a half times. A tenth of the users has
 * four of ten memberships, which is about twenty groups each. The first ten groups have no direct members, and each contains a
 * fiftieth of the other groups; the first also contains two of the ten.
 */
export const LARGE = { people: 100_000, groups: 5_000, members: 100 };

const OUTER_GROUPS = 10;
const BASE = 'dc=example,dc=org';

/**
 * Fills an empty mirror. Names consist of a few syllables, some with accents; ten users are called Qxander, and three of five
 * have a photo.
 * @param query executes an SQL text, always on the same connection
 */
export async function fillLargeDirectory(query, size = LARGE) {
  await query(SESSION);
  await withoutIndexes(
    query,
    ['entries', 'references', 'users', 'groups', 'effective_memberships'],
    async () => {
      for (const statement of [...drawn(size), ...rows(size)]) await query(statement);
    },
  );
  await query('vacuum analyze');
  await query('reset session_replication_role; reset maintenance_work_mem; reset work_mem');
}

/** Valid references need no checks, and compiling these statements takes longer than running them. */
const SESSION = `
  set statement_timeout = 0; set maintenance_work_mem = '256MB'; set work_mem = '128MB'; set jit = off;
  set session_replication_role = replica`;

/** Fills or changes most rows of tables. Creating their indexes afterwards is faster than updating them. */
export async function withoutIndexes(query, tables, work) {
  const indexes = rowsOf(
    await query(`
      select indexrelid::regclass::text as name, pg_get_indexdef(indexrelid) as definition from pg_index
      where indrelid in (${tables.map((table) => `'"${table}"'::regclass`).join(', ')}) and not indisunique`),
  );
  for (const { name } of indexes) await query(`drop index ${name}`);
  await work();
  for (const { definition } of indexes) await query(definition);
}

/** TypeORM returns rows, and the driver below it a result. */
function rowsOf(result) {
  return Array.isArray(result) ? result : result.rows;
}

const WRITTEN =
  'Ada Anna Ben Carla Dana Émil Finn Greta Hanna Ida Jonas Karl Lena Mia Nora Otto Paul Rosa Zoë Jürgen';
const FOLDED =
  'ada anna ben carla dana emil finn greta hanna ida jonas karl lena mia nora otto paul rosa zoe jurgen';
const SYLLABLES = 'ber dor fel gan hol kam lin mar nau pol ros sen tal vos wes zim';
const words = (text) => `string_to_array('${text}', ' ')`;

/** Users and memberships. Step sizes without a common factor with the number of users select no user twice. */
const drawn = ({ people, groups, members }) => [
  `create temporary table drawn_people as
   select n as key, 'person.' || n as id, called || written[1 + n % 20] as given_name, initcap(surname) as family_name,
     lower(called) || folded[1 + n % 20] || ' ' || surname as sort_name
   from (
     select n, case when n <= 10 then 'Qxander ' else '' end as called,
       part[1 + n / 20 % 16] || part[1 + n / 320 % 16] || part[1 + n / 5120 % 16] as surname, written, folded
     from generate_series(1, ${people}) n,
       (select ${words(WRITTEN)} as written, ${words(FOLDED)} as folded, ${words(SYLLABLES)} as part) words
   ) named`,
  `create temporary table drawn_groups as
   select ${people} + n as key, n, 'group-' || n as id, case when n <= 10 then 'Qxander ' else '' end || 'Club ' || n as name
   from generate_series(1, ${groups}) n`,
  `create temporary table drawn_memberships as
   select ${people} + g as group_key, case when i % 50 = 1 then 5 when i % 10 = 2 then 3 else 1 end as named_as,
     case when i <= size * 2 / 5 then 1 + (g * 7919 + i * 104729::bigint) % ${people / 10}
     else 1 + ${people / 10} + (g * 7919 + i * 104729::bigint) % ${people - people / 10} end::integer as user_key
   from generate_series(${OUTER_GROUPS + 1}, ${groups}) g,
     lateral (select ${members / 2} + g * 37 % ${members + 1} as size) sized, generate_series(1, size) i`,
];

const schoolYear = (key) => `nullif(1 + ${key} % 12, 12) || chr(65 + ${key} % 5)`;
const hasPhoto = (key) => `${key} % 5 < 3`;
const hasPicture = (key) => `${key} % 7 = 0`;

/** The values of search-text.ts: characters and pairs of words, and the letters of the name in order. */
const PAIRS = `array(
     select gram from unnest(string_to_array(translate(search_text, chr(10), ' '), ' ')) word, generate_series(1, length(word)) at,
       lateral (values (substr(word, at, 1)), (substr(word, at, 2))) grams (gram) group by gram)`;
const LETTERS = `(select string_agg(letter, '' order by letter collate "C")
     from unnest(string_to_array(replace(sort_name, ' ', ''), null)) letter)`;
const joined = (text) => `replace(${text}, ' ', '')`;
/** A key for the DN of an entry. */
const NAME = "md5('name ' || key)::uuid";
const ROLE = 'case when named_as >= 4 then 3 when named_as >= 2 then 2 else 1 end';

const rows = ({ people, groups }) => [
  `insert into pictures (sha256, bytes)
   select sha256(bytes), bytes from (select convert_to('picture ' || n, 'UTF8') as bytes from generate_series(0, 9) n) made`,
  `insert into entries (key, uuid, kind, dn, dn_key, id_folded, stamp, attributes, content, digest)
   overriding system value
   select key, gen_random_uuid(), kind, dn, ${NAME}, id, '', attributes, sha256(convert_to(id, 'UTF8')), sha256(convert_to(dn, 'UTF8'))
   from (
     select key, id, 'person' as kind, 'uid=' || id || ',ou=people,${BASE}' as dn,
       json_build_object('uid', array[id], 'cn', array[given_name || ' ' || family_name]) as attributes from drawn_people
     union all
     select key, id, 'group', 'cn=' || id || ',ou=groups,${BASE}', json_build_object('cn', array[id], 'description', array[name])
     from drawn_groups
   ) entry`,
  'insert into names (name, key) select dn_key, key from entries',
  `insert into nestings (outer_key, inner_key, role)
   select ${people} + g % 50, ${people} + g, 1 from generate_series(${OUTER_GROUPS + 1}, ${groups}) g
   where g % 50 between 1 and ${OUTER_GROUPS}
   union all values (${people + 1}, ${people + 2}, 1), (${people + 1}, ${people + 3}, 1)`,
  `insert into "references" (from_key, field, target, named_as)
   select group_key, ':', n.name, named_as from drawn_memberships join names n on n.key = user_key
   union all select outer_key, ':', n.name, 1 from nestings join names n on n.key = inner_key`,
  `insert into effective_memberships (group_key, user_key, role, direct_role, inherited_from, user_sort_name, user_id,
     user_name, user_school_year, user_school_year_compared, user_has_photo, user_has_picture, group_sort_name, group_id, group_name)
   with recursive reach (outer_key, via, inner_key) as (
     select outer_key, inner_key, inner_key from nestings
     union
     select r.outer_key, r.via, n.inner_key from reach r join nestings n on n.outer_key = r.inner_key
   ),
   effective as (
     select group_key, user_key, ${ROLE} as role, ${ROLE} as direct_role, '{}'::integer[] as inherited_from from drawn_memberships
     union all
     select r.outer_key, m.user_key, 1, null, array_agg(distinct r.via order by r.via)
     from reach r join drawn_memberships m on m.group_key = r.inner_key group by 1, 2
   )
   select group_key, user_key, role, direct_role, inherited_from, u.sort_name, u.id,
     u.given_name || ' ' || u.family_name, ${schoolYear('u.key')}, lower(${schoolYear('u.key')}), ${hasPhoto('u.key')}, ${hasPicture('u.key')},
     lower(g.name), g.id, g.name
   from effective join drawn_people u on u.key = user_key join drawn_groups g on g.key = group_key
   order by group_key, u.sort_name, user_key`,
  `insert into users (key, entry_uuid, id, id_folded, name, given_name, family_name, email, school_year, school_year_compared,
     photo, picture, is_active, sort_name, family_sort_name, name_letters, search_text, search_pairs, group_count, created_at, updated_at)
   select key, (select e.uuid from entries e where e.key = named.key), id, id,
     given_name || ' ' || family_name, given_name, family_name, id || '@example.org', ${schoolYear('key')}, lower(${schoolYear('key')}),
     case when ${hasPhoto('key')} then sha256(convert_to('picture ' || key % 10, 'UTF8')) end,
     case when ${hasPicture('key')} then sha256(convert_to('picture ' || key % 10, 'UTF8')) end,
     true, sort_name, lower(family_name), ${LETTERS}, search_text, ${PAIRS}, coalesce(group_count, 0), timestamptz '2025-08-01',
     timestamptz '2026-01-01' + key * interval '1 second'
   from (
     select *, ' person ' || key || ' ' || sort_name || chr(10) || ' person' || key || ' ' || ${joined('sort_name')} ||
       case when key <= 10 then ' ' || substr(${joined('sort_name')}, 8) || ' ' || ${joined('lower(given_name)')} else '' end
       as search_text
     from drawn_people
   ) named
   left join (select user_key, count(*) as group_count from effective_memberships group by 1) counted on user_key = key
   order by key`,
  `insert into groups (key, entry_uuid, id, id_folded, name, sort_name, name_letters, search_text, search_pairs, member_count, created_at,
     updated_at)
   select key, (select e.uuid from entries e where e.key = named.key), id, id, name, sort_name, ${LETTERS}, search_text, ${PAIRS},
     coalesce(member_count, 0), timestamptz '2025-08-01', timestamptz '2026-01-01' + n * interval '1 second'
   from (
     select *, lower(name) as sort_name, ' group' || n || ' ' || lower(name) || chr(10) ||
       case when n <= 10 then ' ' || ${joined('lower(name)')} else '' end || ' club' || n as search_text
     from drawn_groups
   ) named
   left join (select group_key, count(*) as member_count from effective_memberships group by 1) counted on group_key = key
   order by key`,
  `select setval(pg_get_serial_sequence('entries', 'key'), ${people + groups})`,
  `with applied as (
     insert into revisions (applied_at, users_created, users_updated, users_deleted, groups_created, groups_updated, groups_deleted,
       memberships_added, memberships_changed, memberships_removed, confirmed)
     select now(), ${people}, 0, 0, ${groups}, 0, 0, count(*), 0, 0, false from drawn_memberships returning id, uuid
   )
   update mirror_state set state = 'IDLE', as_of = now(), user_count = ${people}, group_count = ${groups},
     (revision, revision_uuid) = (select id, uuid from applied)`,
  `drop table drawn_people, drawn_groups, drawn_memberships`,
];
