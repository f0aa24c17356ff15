import type { IncomingMessage } from 'node:http';
import { ServiceError } from '../common/errors.js';
import { countFields } from '../http/request-head-check.js';
import { UnauthenticatedError } from './authentication.error.js';

/** What an Authorization header contains (RFC 9110 §11.4). */
export interface Credentials {
  readonly scheme: 'Bearer' | 'Basic';
  /** The token68 of RFC 9110 §11.2. */
  readonly token: string;
}

const BASIC = /^Basic\b/i;
/** One scheme, spaces and one token, and nothing else. */
const AUTHORIZATION = /^(Bearer|Basic) +([A-Za-z0-9\-._~+/]+=*)$/i;

/**
 * Reads the credentials of a request; null if it has none.
 * @throws UnauthenticatedError if the header is malformed or there are several
 * @throws ServiceError FORBIDDEN if a page of another site sends Basic credentials
 */
export function readAuthorization(request: IncomingMessage): Credentials | null {
  // Node keeps the first of several headers, and they may name different principals.
  if (countFields(request.rawHeaders, 'authorization') > 1) throw UnauthenticatedError.malformedHeader();
  const { authorization } = request.headers;
  if (authorization === undefined) return null;
  // A browser remembers Basic credentials and adds them to the requests of other sites, which is never intended.
  if (BASIC.test(authorization) && request.headers['sec-fetch-site'] === 'cross-site') {
    throw new ServiceError(
      'FORBIDDEN',
      'A page of another site cannot use a service account: send an access token',
    );
  }
  const [, scheme, token] = AUTHORIZATION.exec(authorization) ?? [];
  if (scheme === undefined || token === undefined) throw UnauthenticatedError.malformedHeader();
  return { scheme: scheme.toLowerCase() === 'bearer' ? 'Bearer' : 'Basic', token };
}

/** Splits Basic credentials at the first colon (RFC 7617 §2); null if they are malformed. */
export function parseBasic(token: string): { id: string; secret: string } | null {
  const bytes = Buffer.from(token, 'base64');
  // Node skips characters that are not Base64 (RFC 4648 §3.3 requires an error), so each token has one spelling only.
  if (bytes.toString('base64') !== token) return null;
  const decoded = bytes.toString();
  const colon = decoded.indexOf(':');
  return colon < 0 ? null : { id: decoded.slice(0, colon), secret: decoded.slice(colon + 1) };
}
