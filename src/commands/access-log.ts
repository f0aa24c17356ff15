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
  const columns = ['day', 'principal', 'actingFor', 'field', 'requests', 'users'] as const;
  const none = 'The access log has no entries for these days, or ACCESS_LOG_DAYS is 0.';
  printTable({ from, to, counts }, counts, columns, none);
}
