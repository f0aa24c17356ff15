import { IS_COMPLETE, statement } from '../database/statements/statement.js';

/**
 * Service accounts by their ids, and the hashes of their valid secrets. An unknown, expired or revoked account also gives a
 * row, without an id and with the same amount of data, because the duration of a rejection must not reveal which accounts
 * exist.
 */
export const FIND_LIVE = statement(`
  select asked.id, account.id, coalesce(account.limited_scopes, account.scopes, '{read}'), account.expires_at, account.last_used_at,
    coalesce(nullif(array(
      select secret.sha256 from service_account_secrets secret
      where secret.service_account_id = asked.id and (secret.expires_at is null or secret.expires_at > $2)
    ), '{}'), array[decode(repeat('00', 32), 'hex')]), account.limited_to
  from unnest($1::text[]) as asked (id)
  left join service_accounts account on account.id = asked.id
    and account.revoked_at is null and (account.expires_at is null or account.expires_at > $2)
  where ${IS_COMPLETE}`);

export type LiveRow = [
  asked: string,
  id: string | null,
  scopes: string[],
  expiresAt: Date | null,
  lastUsedAt: Date | null,
  hashes: Buffer[],
  limitedTo: string[] | null,
];
