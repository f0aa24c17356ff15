/** Instants in ascending order over four weeks, in the order of the inserts. */
const ROWS = [
  `insert into changes (revision, at, kind, user_key, user_id)
   select 1, now() - interval '28 days', 1, key, id from users order by key`,
  `insert into changes (revision, at, kind, group_key, group_id)
   select 1, now() - interval '28 days', 4, key, id from groups order by key`,
  `insert into changes (revision, at, kind, user_key, user_id, group_key, group_id, role_after)
   select m.group_key, now() - interval '27 days' + m.group_key * interval '1 minute', 7, m.user_key, u.id, m.group_key, g.id, m.role
   from effective_memberships m join users u on u.key = m.user_key join groups g on g.key = m.group_key
   where m.group_key % 6 = 1 order by m.group_key, m.user_key`,
  `insert into changes (revision, at, kind, user_key, user_id)
   select 2, now() - interval '14 days' + key * interval '1 second', 2, key, id from users where key % 10 = 0 order by key`,
  `insert into changes (revision, at, kind, user_key, user_id, group_key, group_id, role_before, role_after)
   select 3, now() - interval '7 days' + m.group_key * interval '1 minute', 9, m.user_key, u.id, m.group_key, g.id, m.role % 3 + 1, m.role
   from effective_memberships m join users u on u.key = m.user_key join groups g on g.key = m.group_key
   where m.user_key % 40 = 0 order by m.group_key, m.user_key`,
  `insert into changes (revision, at, kind, user_key, user_id, id_folded)
   select 4, now(), 3, 1000000 + n, 'former.' || n, 'former.' || n from generate_series(1, 100) n`,
  `insert into changes (revision, at, kind, group_key, group_id, id_folded)
   select 4, now(), 6, 1000000 + n, 'former-group-' || n, 'former-group-' || n from generate_series(1, 100) n`,
  `update mirror_state set change_count = (select count(*) from changes)`,
];

/**
 * Fills the log of a large directory: all users were added, many roles changed, and some users were removed.
 * @param query executes an SQL text, always on the same connection
 */
export async function fillLargeLog(query: (text: string) => Promise<unknown>): Promise<void> {
  await query('set statement_timeout = 0');
  for (const statement of ROWS) await query(statement);
  await query('vacuum analyze changes');
}
