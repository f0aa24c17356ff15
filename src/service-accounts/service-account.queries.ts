import { statement } from '../database/statements/statement.js';

/**
 * A service account and the hashes of its live secrets. One that is unknown, expired or revoked is a row as well, without
 * an id, and with as much in it to be read as in every other: how long an answer takes must not tell which accounts there are.
 */
export const FIND_LIVE = statement(`
  select account.id, coalesce(account.scopes, '{read}'), account.expires_at, account.last_used_at,
    coalesce(nullif(array(
      select secret.sha256 from service_account_secrets secret
      where secret.service_account_id = $1 and (secret.expires_at is null or secret.expires_at > $2)
    ), '{}'), array[decode(repeat('00', 32), 'hex')])
  from (select $1::text as id) asked
  left join service_accounts account on account.id = asked.id
    and account.revoked_at is null and (account.expires_at is null or account.expires_at > $2)`);

export type LiveRow = [
  id: string | null,
  scopes: string[],
  expiresAt: Date | null,
  lastUsedAt: Date | null,
  hashes: Buffer[],
];

/** Notes a use, unless one was noted within the last minute. */
export const NOTE_USE = statement(`
  update service_accounts set last_used_at = $2
  where id = $1 and (last_used_at is null or last_used_at < $2::timestamptz - interval '1 minute')`);
