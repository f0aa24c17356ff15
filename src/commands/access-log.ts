import { AccessLogEntity } from '../access-log/access-log.entity.js';
import { dayOf, keptSince, listCounts } from '../access-log/access-counts.js';
import { BadUserInputError } from '../common/errors.js';
import { readConfig } from '../config/config.js';
import { printTable, withDatabase } from './context.js';

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
  const rows = counts.map(({ day, actingFor, field, requests, users, ...count }) => {
    const who = actingFor === '' ? count.principal : `${count.principal} for ${actingFor}`;
    return [day, who, field, String(requests), String(users)];
  });
  const head = ['DAY', 'PRINCIPAL', 'FIELD', 'REQUESTS', 'USERS'];
  const none =
    config.accessLogDays === 0
      ? 'The access log is off: ACCESS_LOG_DAYS is 0.'
      : 'The access log has no entries for these days.';
  printTable({ from, to, counts }, [head, ...rows], none);
}
