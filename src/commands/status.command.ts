import type { Command } from 'commander';
import { kindNumbered } from '../common/change-kind.js';
import { counted } from '../common/counted.js';
import { printable } from '../common/printable.js';
import { readConfig } from '../config/config.js';
import { nameDatabase } from '../config/settings/database.js';
import type { DirectoryDataSource } from '../database/connections/data-source.js';
import type { SyncState } from '../mirror/status/mirror-state.js';
import type { HintMode } from '../sources/directory.js';
import { addCommand, cut, describeRows, paint, terminalWidth } from './help.js';

const STYLES = {
  NEVER_RUN: 'yellow',
  IDLE: 'green',
  RUNNING: 'green',
  FAILING: 'red',
  BLOCKED: 'red',
} as const satisfies Record<SyncState, string>;
/** How changes are noticed. */
const MODES = {
  PUSHED: 'the messages of the server',
  COUNTED: 'the numbers that the server gives changes',
  POLLED: 'nothing: all entries are compared at an interval',
} as const satisfies Record<HintMode, string>;
/** The number of changes that are shown. */
const SHOWN = 5;

export function addStatusCommand(program: Command): void {
  addCommand(
    program,
    'status',
    'show the state and age of the mirror, its processes, and its last changes',
    ['status', 'Show whether the mirror is current, and who writes it'],
    ['status --json | jq .ageSeconds', 'Print its age for a monitoring system'],
  ).action(async ({ json }: { json?: true }) => {
    const config = readConfig();
    const { withDatabase } = await import('./context.js');
    const status = await withDatabase(config, readStatus);
    const database = nameDatabase(config.database);
    console.log(json === true ? JSON.stringify({ database, ...status }) : describeStatus(status, database));
  });
}

type Status = Awaited<ReturnType<typeof readStatus>>;

async function readStatus(dataSource: DirectoryDataSource) {
  const [{ Database }, { MirrorState }, { LEADER_LOCK, RULES_LOCK }] = await Promise.all([
    import('../database/database.js'),
    import('../mirror/status/mirror-state.js'),
    import('../database/visibility/rules-in-mirror.js'),
  ]);
  const { state, asOf, reason, blockedPlan, mode, revision, now } = await new MirrorState(
    new Database(dataSource),
    dataSource,
  ).get();
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
  >(`select at, kind, user_id as user, group_id as group from changes order by id desc limit ${SHOWN}`);
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

function describeStatus(status: Status, database: string): string {
  const { state, asOf, ageSeconds, reason, blockedPlan, leader, processes, changes } = status;
  const age =
    ageSeconds === null ? 'never' : `${asOf?.toISOString() ?? ''}, ${counted(ageSeconds, 'second')} ago`;
  const where =
    leader === null ? 'none' : `${leader.address ?? 'local'}, since ${leader.since.toISOString()}`;
  const rows = describeRows([
    ['state', state],
    ['as of', age],
    ...(reason === null ? [] : [['reason', printable(reason)]]),
    ...(blockedPlan === null ? [] : [['plan', blockedPlan]]),
    ['follows', status.mode === null ? 'a file, or nothing yet' : MODES[status.mode]],
    ['content', `${counted(status.users, 'user')}, ${counted(status.groups, 'group')}`],
    ['revision', String(status.revision ?? 'none')],
    ['leader', where],
    ['processes', String(processes)],
    ['database', database],
  ]);
  const last = changes.map(({ at, kind, user, group }) =>
    [at.toISOString(), kind, ...[user, group].filter((id) => id !== null).map(printable)].join('  '),
  );
  const lines = last.length === 0 ? [] : ['', 'Last changes', ...last.map((line) => `  ${line}`)];
  return [paint(STYLES[state], rows[0] ?? ''), ...rows.slice(1), ...lines]
    .map((line) => cut(line, Math.max(terminalWidth(), 80)))
    .join('\n');
}
