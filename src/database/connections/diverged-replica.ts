import type pg from 'pg';

/** Why a replica is not asked that follows a server with another history, as after a failover. */
export const ORPHANED = 'it has a revision that the primary never had';

const HAS_HAD = 'select exists (select from revisions where uuid = $1::uuid) as "hasHad"';

/** Whether a primary has this revision, or had it before. */
export async function hasHadRevision(primary: pg.Pool, id: string): Promise<boolean> {
  const { rows } = await primary.query<{ hasHad: boolean }>(HAS_HAD, [id]);
  return rows[0]?.hasHad === true;
}
