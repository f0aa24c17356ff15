import { kindNumbered } from '../common/change-kind.js';
import { readConfig } from '../config/config.js';
import { nameDatabase } from '../config/settings/database.js';
import type { DirectoryDataSource } from '../database/connections/data-source.js';
import { Database } from '../database/database.js';
import { LEADER_LOCK, RULES_LOCK } from '../database/visibility/rules-in-mirror.js';
import { MirrorState } from '../mirror/status/mirror-state.js';
import { linesOf, print, withDatabase } from './context.js';

/** Prints the facts one below the other, and then the last changes. */
export async function printStatus(): Promise<void> {
  const config = readConfig();
  const status = await withDatabase(config, readStatus);
  const { changes, ...facts } = status;
  const last = changes.map((change) => ['', ...Object.values(change).filter((value) => value !== null)]);
  const lines = [...linesOf(Object.entries(facts)), '', 'Last changes', ...linesOf(last)];
  const database = nameDatabase(config.database);
  print({ database, ...status }, [`The mirror in the ${database}`, ...lines].join('\n'));
}

async function readStatus(dataSource: DirectoryDataSource) {
  const mirror = await new MirrorState(new Database(dataSource), dataSource).get();
  const { state, asOf, reason, blockedPlan, mode, revision, now } = mirror;
  const [counts = {}] = await dataSource.query<{ users?: number; groups?: number }[]>(
    'select user_count as users, group_count as groups from mirror_state',
  );
  // Each process that follows the directory, or would, has a session with the lock of its rules.
  const sessions = await dataSource.query<{ address: string | null; since: Date; leads: boolean }[]>(
    `select host(a.client_addr) as address, a.backend_start as since, exists (
        select from pg_locks l where l.pid = a.pid and l.locktype = 'advisory' and l.classid = 0
          and l.objid = ${LEADER_LOCK} and l.objsubid = 1 and l.granted
      ) as leads
      from pg_stat_activity a where a.datname = current_database() and exists (
        select from pg_locks l where l.pid = a.pid and l.locktype = 'advisory' and l.database = a.datid
          and l.classid = ${RULES_LOCK} and l.objsubid = 2 and l.granted
      ) order by a.backend_start`,
  );
  const changes = await dataSource.query<
    { at: Date; kind: number; user: string | null; group: string | null }[]
  >(`select at, kind, user_id as user, group_id as group from changes order by id desc limit 5`);
  const leader = sessions.find(({ leads }) => leads);
  return {
    ...{ state, asOf, reason, blockedPlan, mode, revision },
    ageSeconds: asOf === null ? null : Math.max(0, Math.round((now.getTime() - asOf.getTime()) / 1000)),
    ...counts,
    processes: sessions.length,
    leader: leader === undefined ? null : { address: leader.address, since: leader.since },
    changes: changes.map((change) => ({ ...change, kind: kindNumbered(change.kind) })),
  };
}
