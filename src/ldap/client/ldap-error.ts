/** The result codes of binds and searches (RFC 4511 Appendix A, RFC 4533 §2.6), by their names. */
export const ResultCode = {
  success: 0,
  operationsError: 1,
  protocolError: 2,
  timeLimitExceeded: 3,
  sizeLimitExceeded: 4,
  authMethodNotSupported: 7,
  strongerAuthRequired: 8,
  referral: 10,
  adminLimitExceeded: 11,
  unavailableCriticalExtension: 12,
  confidentialityRequired: 13,
  saslBindInProgress: 14,
  noSuchAttribute: 16,
  undefinedAttributeType: 17,
  inappropriateMatching: 18,
  invalidAttributeSyntax: 21,
  noSuchObject: 32,
  aliasProblem: 33,
  invalidDNSyntax: 34,
  aliasDereferencingProblem: 36,
  inappropriateAuthentication: 48,
  invalidCredentials: 49,
  insufficientAccessRights: 50,
  busy: 51,
  unavailable: 52,
  unwillingToPerform: 53,
  loopDetect: 54,
  other: 80,
  'e-syncRefreshRequired': 4096,
} as const;

const NAMES = new Map<number, string>(Object.entries(ResultCode).map(([name, code]) => [code, name]));

/** The name of a result code; `unknown` for another number. */
export function resultCodeName(code: number): string {
  return NAMES.get(code) ?? 'unknown';
}

/**
 * Base class of all errors in communication with a directory server. Messages are written for the operator
 * and never contain a password or a value of an entry.
 */
export abstract class LdapError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
  }
}

/** The connection failed: it was refused, the host is unreachable, or its name does not resolve. */
export class LdapConnectError extends LdapError {}

/** TLS cannot be established, because of the certificate, the host name, or a server that refuses TLS. */
export class LdapTlsError extends LdapError {}

/** The server refuses StartTLS. */
export class StartTlsRefusedError extends LdapTlsError {}

/**
 * The server sent bytes that are not LDAP, or a message that is not valid at this point. The connection is
 * closed.
 */
export class LdapProtocolError extends LdapError {
  /** @param what a description of what was sent, such as "a message that ends too early" */
  constructor(what: string, options?: ErrorOptions) {
    super(`The directory server sent ${what}`, options);
  }
}

/** The server did not answer in time. */
export class LdapTimeoutError extends LdapError {}

/** Either side closed the connection before the response was complete. */
export class LdapClosedError extends LdapError {}

/** An entry changed so often that no state of it could be read. */
export class LdapUnstableError extends LdapError {}

/** The result of a completed operation (LDAPResult, RFC 4511 §4.1.9). */
export interface LdapResult {
  readonly code: number;
  /** The diagnostic message of the server. It may only be written to a log. */
  readonly diagnostic: string;
}

/** The server completed the operation with a result code other than the expected one. */
export class LdapResultError extends LdapError implements LdapResult {
  /** The numeric result code (RFC 4511 Appendix A). */
  readonly code: number;
  /** The name of the result code, such as `noSuchObject` for 32. */
  readonly codeName: string;
  /** Not part of the error message. */
  readonly diagnostic: string;

  /** @param message the meaning of the code in this context; defaults to the name and number of the code */
  constructor({ code, diagnostic }: LdapResult, message?: string) {
    super(message ?? messageOf(code));
    this.code = code;
    this.codeName = resultCodeName(code);
    this.diagnostic = diagnostic;
  }
}

function messageOf(code: number): string {
  const named = `${resultCodeName(code)} (${code})`;
  return code === ResultCode.referral
    ? `The directory server refers to another server: ${named}. Referrals are not followed`
    : `The directory server answered ${named}`;
}

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
