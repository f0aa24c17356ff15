import { type LdapResult, LdapResultError } from './ldap-error.js';
import { ResultCode, resultCodeName } from './result-code.js';

/** The server stopped at a limit for this account: the entries read so far are incomplete. */
export class LimitExceededError extends LdapResultError {}

/** More entries than the account may read (sizeLimitExceeded). */
export class SizeLimitError extends LimitExceededError {}

/**
 * The error for a result code that means an exceeded limit; null for all other codes. The message contains
 * the statement to add to the configuration of OpenLDAP for the bound account.
 */
export function toLimitError(result: LdapResult, bindDn: string | null): LimitExceededError | null {
  switch (result.code) {
    case ResultCode.sizeLimitExceeded:
      return new SizeLimitError(result, messageOf(result.code, bindDn, 'size=unlimited time=unlimited'));
    case ResultCode.timeLimitExceeded:
      return new LimitExceededError(result, messageOf(result.code, bindDn, 'size=unlimited time=unlimited'));
    case ResultCode.adminLimitExceeded: {
      // OpenLDAP has a separate limit for searches whose candidates the indexes cannot narrow
      // (size.unchecked).
      const limits = 'size=unlimited size.unchecked=unlimited time=unlimited';
      return new LimitExceededError(result, messageOf(result.code, bindDn, limits));
    }
    default:
      return null;
  }
}

function messageOf(code: number, bindDn: string | null, limits: string): string {
  const who = bindDn === null ? 'anonymous' : `dn.exact="${bindDn.replace(/[\\"]/g, '\\$&')}"`;
  return [
    `The directory server lets ${bindDn ?? 'anonymous clients'} read a part only (${resultCodeName(code)}).`,
    `OpenLDAP needs in slapd.conf: limits ${who} ${limits}`,
    `(in cn=config, on the database: olcLimits: ${who} ${limits})`,
  ].join(' ');
}
