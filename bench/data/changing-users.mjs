// Revisions of single users whom no measured page shows, as a follower announces them.
import { clearInterval, setInterval } from 'node:timers';

/** A revision with a new value of one user, in one transaction. It changes no name, so no list has another order. */
const APPLY = (key) => `
  begin;
  select from mirror_state for update;
  update users set school_year = case school_year when '1A' then '1B' else '1A' end,
    school_year_compared = case school_year when '1A' then '1b' else '1a' end, updated_at = now() where key = ${key};
  update effective_memberships m set user_school_year = u.school_year, user_school_year_compared = u.school_year_compared from users u where u.key = ${key} and m.user_key = u.key;
  insert into revisions (applied_at, users_created, users_updated, users_deleted, groups_created, groups_updated, groups_deleted,
    memberships_added, memberships_changed, memberships_removed, confirmed)
  values (now(), 0, 1, 0, 0, 0, 0, 0, 0, 0, false);
  select pg_notify('directory_revision', uuid::text) from revisions where id = (select max(id) from revisions);
  update mirror_state set revision = (select max(id) from revisions);
  commit`;

const UNRELATED = `
  select u.key, u.id from users u
  where not exists (
    select from effective_memberships m join groups g on g.key = m.group_key where m.user_key = u.key and g.id = any ($1))
  order by u.key limit 1000`;

/** @param groups ids of the groups to which no returned user belongs */
export async function findUnrelatedUsers(connection, groups) {
  const { rows } = await connection.query(UNRELATED, [groups]);
  return rows;
}

/** Applies revisions of users who belong to none of some groups during some work. @param rate revisions per second */
export async function whileUsersChange(connection, { groups, rate }, work) {
  const users = await findUnrelatedUsers(connection, groups);
  return whileChanging(rate, (turn) => connection.query(APPLY(users[turn % users.length].key)), work);
}

/** Makes changes one after the other during some work. @param rate changes per second */
export async function whileChanging(rate, change, work) {
  let turn = 0;
  let pending = Promise.resolve();
  const timer = setInterval(() => {
    const current = turn++;
    pending = pending.then(() => change(current));
  }, 1000 / rate);
  try {
    return await work();
  } finally {
    clearInterval(timer);
    await pending;
  }
}
