import { type LdapResult, LdapResultError } from './ldap-error.js';
import { ResultCode, resultCodeName } from './result-code.js';

/** A server that counts failures, and locks the account after some of them, rejected a bind. */
export class LockingRejectionError extends LdapResultError {}

/** Result codes by which servers refuse a password without encryption. */
const REQUIRES_TLS: readonly number[] = [ResultCode.strongerAuthRequired, ResultCode.confidentialityRequired];
const TLS_IS_MISSING = 'It accepts passwords only with TLS (StartTLS or ldaps)';

/** The causes that Active Directory and Samba write into the diagnostic message (Windows error codes, [MS-ERREF] 2.2). */
const CAUSE = /AcceptSecurityContext error, data ([0-9a-f]+)/i;
const CAUSES: Readonly<Record<string, string>> = {
  '525': 'There is no such account',
  '52e': 'The account or its password is wrong',
  '530': 'The account may not log on at this time',
  '531': 'The account may not log on from this computer',
  '532': 'The password has expired',
  '533': 'The account is disabled',
  '701': 'The account has expired',
  '773': 'The password must be changed before the first use',
  '775': 'The account is locked',
};

/** The error of a rejected bind, with its cause as far as the server names it. The diagnostic message itself is not part of it. */
export function toBindError(result: LdapResult, account: string): LdapResultError {
  const { code, diagnostic } = result;
  const data =
    code === ResultCode.invalidCredentials ? CAUSE.exec(diagnostic)?.[1]?.toLowerCase() : undefined;
  const cause = REQUIRES_TLS.includes(code) ? TLS_IS_MISSING : CAUSES[data ?? ''];
  const reason = `${resultCodeName(code)} (${code})${cause === undefined ? '' : `. ${cause}`}`;
  const message = `The directory server rejects the bind of ${account}: ${reason}`;
  return data === undefined
    ? new LdapResultError(result, message)
    : new LockingRejectionError(result, message);
}
