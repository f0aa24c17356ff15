import type { DataSource } from 'typeorm';

/**
 * Makes the mirror look as after its first revision, for tests that write its rows themselves.
 * @param mark that of the rules of visibility with which the rows were written; empty: there are none
 */
export async function writeFirstRevision(dataSource: Pick<DataSource, 'query'>, mark = ''): Promise<void> {
  await dataSource.query(
    `insert into revisions (applied_at, users_created, users_updated, users_deleted, groups_created, groups_updated,
       groups_deleted, memberships_added, memberships_changed, memberships_removed, confirmed)
     values (now(), 0, 0, 0, 0, 0, 0, 0, 0, 0, false)`,
  );
  await dataSource.query(
    `update mirror_state set state = 'IDLE', as_of = now(), revision = (select max(id) from revisions),
       source_fingerprint = $1`,
    [`test${mark}`],
  );
}
