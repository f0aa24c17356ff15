import { type LdapResult, LdapResultError } from './ldap-error.js';
import { ResultCode, resultCodeName } from './result-code.js';

/** The server stopped at a limit for this account: the entries read so far are incomplete. */
export class LimitExceededError extends LdapResultError {}

/** OpenLDAP also limits searches whose candidates the indexes cannot narrow (size.unchecked). */
const LIMITS = new Map<number, string>([
  [ResultCode.sizeLimitExceeded, 'size=unlimited time=unlimited'],
  [ResultCode.timeLimitExceeded, 'size=unlimited time=unlimited'],
  [ResultCode.adminLimitExceeded, 'size=unlimited size.unchecked=unlimited time=unlimited'],
]);

/**
 * The error for a result code that means an exceeded limit; null for all other codes. The message contains
 * the statement to add to the configuration of OpenLDAP for the bound account.
 */
export function toLimitError(result: LdapResult, bindDn: string | null): LimitExceededError | null {
  const limits = LIMITS.get(result.code);
  return limits === undefined ? null : new LimitExceededError(result, messageOf(result.code, bindDn, limits));
}

function messageOf(code: number, bindDn: string | null, limits: string): string {
  const who = bindDn === null ? 'anonymous' : `dn.exact="${bindDn.replace(/[\\"]/g, '\\$&')}"`;
  return [
    `The directory server limits what ${bindDn ?? 'anonymous clients'} may read (${resultCodeName(code)}).`,
    `OpenLDAP needs in slapd.conf: limits ${who} ${limits}`,
    `(in cn=config, on the database: olcLimits: ${who} ${limits})`,
  ].join(' ');
}
