import { LdapTlsError } from './ldap-error.js';

const UNTRUSTED =
  'its certificate was not signed by an authority that is trusted here (the setting for a CA names others)';

const REASONS: Readonly<Record<string, string>> = {
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: UNTRUSTED,
  UNABLE_TO_GET_ISSUER_CERT: UNTRUSTED,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: UNTRUSTED,
  SELF_SIGNED_CERT_IN_CHAIN: UNTRUSTED,
  DEPTH_ZERO_SELF_SIGNED_CERT: UNTRUSTED,
  CERT_HAS_EXPIRED: 'its certificate has expired',
  CERT_NOT_YET_VALID: 'its certificate is not valid yet',
  CERT_REVOKED: 'its certificate has been revoked',
  CERT_SIGNATURE_FAILURE: 'the signature of its certificate is wrong',
  ERR_SSL_WRONG_VERSION_NUMBER: 'it does not speak TLS on this port',
  ERR_SSL_PACKET_LENGTH_TOO_LONG: 'it does not speak TLS on this port',
  ECONNRESET: 'it ended the connection during the handshake',
};

/** Converts a TLS error to one whose message states what the operator can correct. */
export function toTlsError(error: NodeJS.ErrnoException, host: string): LdapTlsError {
  return new LdapTlsError(`No TLS with ${host}: ${reasonOf(error, host)}`, { cause: error });
}

function reasonOf({ code = '', message }: NodeJS.ErrnoException, host: string): string {
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') return `its certificate is not for ${host}`;
  const reason = REASONS[code];
  if (reason === undefined) return code === '' ? message : `${message} (${code})`;
  return `${reason} (${code})`;
}
