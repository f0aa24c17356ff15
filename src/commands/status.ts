import { kindNumbered } from '../common/change-kind.js';
import { counted } from '../common/counted.js';
import { readConfig } from '../config/config.js';
import { nameDatabase } from '../config/settings/database.js';
import type { DirectoryDataSource } from '../database/connections/data-source.js';
import { Database } from '../database/database.js';
import { LEADER_LOCK, RULES_LOCK } from '../database/visibility/rules-in-mirror.js';
import { MirrorState, SyncState } from '../mirror/status/mirror-state.js';
import type { HintMode } from '../sources/directory.js';
import { linesOf, paint, print, withDatabase } from './context.js';

/** How changes are noticed. */
const MODES = {
  PUSHED: 'the messages of the server',
  COUNTED: 'the numbers that the server gives changes',
  POLLED: 'nothing: all entries are compared at an interval',
} as const satisfies Record<HintMode, string>;

export async function printStatus(): Promise<void> {
  const config = readConfig();
  const status = await withDatabase(config, readStatus);
  const result = { database: nameDatabase(config.database), ...status };
  print(result, () => describeStatus(result));
}

type Status = Awaited<ReturnType<typeof readStatus>>;

async function readStatus(dataSource: DirectoryDataSource) {
  const mirror = await new MirrorState(new Database(dataSource), dataSource).get();
  const { state, asOf, reason, blockedPlan, mode, revision, now } = mirror;
  const [counts] = await dataSource.query<{ users: number; groups: number }[]>(
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
    users: counts?.users ?? 0,
    groups: counts?.groups ?? 0,
    processes: sessions.length,
    leader: leader === undefined ? null : { address: leader.address, since: leader.since },
    changes: changes.map(({ kind, ...change }) => ({ ...change, kind: kindNumbered(kind) })),
  };
}

function styleOf(state: SyncState): 'green' | 'yellow' | 'red' {
  if (state === SyncState.NEVER_RUN) return 'yellow';
  return state === SyncState.FAILING || state === SyncState.BLOCKED ? 'red' : 'green';
}

function describeStatus(status: Status & { database: string }): string {
  const { state, asOf, ageSeconds, reason, blockedPlan, leader, changes } = status;
  const age = `${asOf?.toISOString() ?? ''}, ${counted(ageSeconds ?? 0, 'second')} ago`;
  const [first = '', ...rows] = linesOf([
    ['state', state],
    ['as of', asOf === null ? 'never' : age],
    ...(reason === null ? [] : [['reason', reason]]),
    ...(blockedPlan === null ? [] : [['plan', blockedPlan]]),
    ['follows', status.mode === null ? 'a file, or nothing yet' : MODES[status.mode]],
    ['content', `${counted(status.users, 'user')}, ${counted(status.groups, 'group')}`],
    ['revision', String(status.revision ?? 'none')],
    [
      'leader',
      leader === null ? 'none' : `${leader.address ?? 'local'}, since ${leader.since.toISOString()}`,
    ],
    ['processes', String(status.processes)],
    ['database', status.database],
  ]);
  const last = changes.map(({ at, kind, user, group }) => {
    return ['', at.toISOString(), kind, ...[user, group].filter((id) => id !== null)];
  });
  return [
    paint(styleOf(state), first),
    ...rows,
    ...(last.length === 0 ? [] : ['', 'Last changes', ...linesOf(last)]),
  ].join('\n');
}
