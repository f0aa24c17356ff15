import type pg from 'pg';

/** Rejection reason of a replica whose server has another history, for example after a failover. */
export const ORPHANED = 'it has a revision that the primary never had';

const HAS_HAD = 'select exists (select from revisions where uuid = $1::uuid) as "hasHad"';

/** Whether the primary has or had this revision. */
export async function hasHadRevision(primary: pg.Pool, id: string): Promise<boolean> {
  const { rows } = await primary.query<{ hasHad: boolean }>(HAS_HAD, [id]);
  return rows[0]?.hasHad === true;
}
