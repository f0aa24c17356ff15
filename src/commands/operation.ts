import { AccessLogEntity } from '../access-log/access-log.entity.js';
import { dayOf, keptSince, listCounts } from '../access-log/access-counts.js';
import { kindNumbered } from '../common/change-kind.js';
import { BadUserInputError } from '../common/errors.js';
import { readConfig } from '../config/config.js';
import { nameDatabase } from '../config/settings/database.js';
import type { DirectoryDataSource } from '../database/connections/data-source.js';
import { Database } from '../database/database.js';
import { LEADER_LOCK, RULES_LOCK } from '../database/visibility/rules-in-mirror.js';
import { rotateGenerated, type RotationStep } from '../media/signing/signing-keys.js';
import { MirrorState } from '../mirror/status/mirror-state.js';
import { linesOf, print, printTable, printWritten, withDatabase } from './context.js';

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

interface AccessLogOptions {
  from?: string;
  to?: string;
  principal?: string;
}

export async function printAccessLog({ principal, ...days }: AccessLogOptions): Promise<void> {
  const config = readConfig();
  const now = new Date();
  const kept = keptSince(now, config.accessLogDays);
  // Days as text sort in the same order.
  const from = days.from === undefined || days.from < kept ? kept : days.from;
  const to = days.to ?? dayOf(now);
  if (days.from !== undefined && days.from > to) throw new BadUserInputError('--from is after --to', 'from');
  const wanted = { from, to, principal: principal ?? null };
  const counts = await withDatabase(config, (dataSource) =>
    listCounts(dataSource.getRepository(AccessLogEntity), wanted),
  );
  const columns = ['day', 'principal', 'actingFor', 'field', 'requests', 'users'] as const;
  const none = 'The access log has no entries for these days, or ACCESS_LOG_DAYS is 0.';
  printTable({ from, to, counts }, counts, columns, none);
}

const SENTENCES: Readonly<Record<RotationStep, string>> = {
  added:
    'A new key is added. Restart all processes one after the other, so that they know it; then run this command again.',
  changed: 'The new key signs after the restart of a process. URLs of the former key stay valid.',
  replaced: 'The new key signs after the restart of a process. URLs of the former key are then invalid.',
};

/** @throws BadUserInputError if the keys are in the settings */
export async function rotateSigningKey({ now }: { now?: true }): Promise<void> {
  const config = readConfig();
  if (config.urlSigningKeys !== null) {
    const message = 'The keys are in URL_SIGNING_KEYS: change the setting as docs/operations.md describes';
    throw new BadUserInputError(message, 'URL_SIGNING_KEYS');
  }
  const step = await withDatabase(config, (dataSource) => rotateGenerated(dataSource, now === true));
  printWritten(config, { step }, SENTENCES[step]);
}
