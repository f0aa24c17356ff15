import { ResultCode, resultCodeName } from './result-code.js';

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

/** Returns the error of a search with its base, if the base does not exist or is hidden; otherwise the error itself. */
export function withBase(error: LdapResultError, base: string): LdapResultError {
  return error.code === ResultCode.noSuchObject
    ? new LdapResultError(error, `${error.message} for the base ${base}`)
    : error;
}
