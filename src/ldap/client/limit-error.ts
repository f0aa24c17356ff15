import { type LdapResult, LdapResultError } from './ldap-error.js';
import { ResultCode, resultCodeName } from './result-code.js';

/** The server stopped at a limit that it has for this account: what was read so far is not everything. */
export class LimitExceededError extends LdapResultError {}

/** More entries than the account may read (sizeLimitExceeded). */
export class SizeLimitError extends LimitExceededError {}

/**
 * What to make of a result code that stands for a limit; null for all others. The message has what has to be
 * added to the configuration of OpenLDAP, for the account that is bound.
 */
export function toLimitError(result: LdapResult, bindDn: string | null): LimitExceededError | null {
  switch (result.code) {
    case ResultCode.sizeLimitExceeded:
      return new SizeLimitError(result, messageOf(result.code, bindDn, 'size=unlimited time=unlimited'));
    case ResultCode.timeLimitExceeded:
      return new LimitExceededError(result, messageOf(result.code, bindDn, 'size=unlimited time=unlimited'));
    case ResultCode.adminLimitExceeded: {
      // A search whose candidates the indexes cannot narrow has a bound of its own.
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
