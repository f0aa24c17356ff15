import { statement } from '../database/statement.js';

/** A service account and the hashes of its live secrets; no row when it is unknown, expired or revoked. */
export const FIND_LIVE = statement(`
  select account.id, account.scopes, account.expires_at, account.last_used_at,
    array(
      select secret.sha256 from service_account_secrets secret
      where secret.service_account_id = account.id and (secret.expires_at is null or secret.expires_at > $2)
    )
  from service_accounts account
  where account.id = $1 and account.revoked_at is null and (account.expires_at is null or account.expires_at > $2)`);

export type LiveRow = [
  id: string,
  scopes: string[],
  expiresAt: Date | null,
  lastUsedAt: Date | null,
  hashes: Buffer[],
];

/** Notes a use, unless one was noted within the last minute. */
export const NOTE_USE = statement(`
  update service_accounts set last_used_at = $2
  where id = $1 and (last_used_at is null or last_used_at < $2::timestamptz - interval '1 minute')`);
