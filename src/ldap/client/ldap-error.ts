import { ResultCode, resultCodeName } from './result-code.js';

/**
 * Whatever goes wrong between us and a directory server. Messages are made for the operator: they never have a
 * password or a value of an entry in them.
 */
export abstract class LdapError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
  }
}

/** There is no connection to be had: refused, unreachable, or a name that does not resolve. */
export class LdapConnectError extends LdapError {}

/** The connection cannot be made safe: the certificate, the host name, or a server that does not want to. */
export class LdapTlsError extends LdapError {}

/** The server sent what is not LDAP, or not what it may send here. The connection has been ended. */
export class LdapProtocolError extends LdapError {
  /** @param what was sent, such as «a message that ends too early» */
  constructor(what: string, options?: ErrorOptions) {
    super(`The directory server sent ${what}`, options);
  }
}

/** The server did not answer in time. */
export class LdapTimeoutError extends LdapError {}

/** The connection has ended, by either side, before the answer was complete. */
export class LdapClosedError extends LdapError {}

/** What a server says of an operation that is over (LDAPResult, RFC 4511 §4.1.9). */
export interface LdapResult {
  readonly code: number;
  /** The server's own words, for a log and for nobody else. */
  readonly diagnostic: string;
}

/** The server answered, and it is not what was asked for. */
export class LdapResultError extends LdapError implements LdapResult {
  /** The number, as in RFC 4511 Appendix A. */
  readonly code: number;
  /** The name of that number, `noSuchObject` for 32. */
  readonly codeName: string;
  /** The server's own words, which are not part of the message. */
  readonly diagnostic: string;

  /** @param message what this means here; without one, the name and the number of the code */
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
