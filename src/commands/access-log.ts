import { AccessLogEntity } from '../access-log/access-log.entity.js';
import { dayOf, keptSince } from '../access-log/access-counts.js';
import { listCounts } from '../access-log/access-counts.js';
import { BadUserInputError } from '../common/errors.js';
import { readConfig } from '../config/config.js';
import { ServiceAccountEntity } from '../service-accounts/service-account.entity.js';
import { linesOf, print, withDatabase } from './context.js';

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
  const counts = await withDatabase(config, async (dataSource) => {
    // Including revoked accounts, because the log still names them.
    const accounts = await dataSource.getRepository(ServiceAccountEntity).find();
    const named = new Map(accounts.map((account) => [`service-account:${account.id}`, account]));
    const wanted = { from, to, principal: principal ?? null };
    const found = await listCounts(dataSource.getRepository(AccessLogEntity), wanted);
    return found.map((count) => {
      const { contact = null, purpose = null } = named.get(count.principal) ?? {};
      return { ...count, contact, purpose };
    });
  });
  const rows = counts.map(({ day, actingFor, field, requests, users, contact, purpose, ...count }) => {
    const who = actingFor === '' ? count.principal : `${count.principal} for ${actingFor}`;
    return [day, who, field, String(requests), String(users), contact ?? '', purpose ?? ''];
  });
  const head = ['DAY', 'PRINCIPAL', 'FIELD', 'REQUESTS', 'USERS', 'CONTACT', 'PURPOSE'];
  const none =
    config.accessLogDays === 0
      ? 'The access log is off: ACCESS_LOG_DAYS is 0.'
      : 'The access log has no entries for these days.';
  print({ from, to, counts }, () => (rows.length === 0 ? none : linesOf([head, ...rows]).join('\n')));
}
