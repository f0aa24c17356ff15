import type { IncomingHttpHeaders } from 'node:http';
import { ServiceError } from './errors.js';

/** The request header with the maximum age of the mirror that the client accepts. */
export const MAX_STALENESS = 'directory-max-staleness';

/** Limits the number of digits. The largest number is more than a thousand years. */
const SECONDS = /^\d{1,11}$/;

/**
 * Reads the maximum age of the mirror that the request accepts, in seconds. Null: there is no bound.
 * @throws ServiceError BAD_REQUEST when the header is malformed
 */
export function readMaxStaleness(headers: IncomingHttpHeaders): number | null {
  const value = headers[MAX_STALENESS];
  if (value === undefined) return null;
  if (typeof value !== 'string' || !SECONDS.test(value)) {
    throw new ServiceError('BAD_REQUEST', 'Directory-Max-Staleness must be one whole number of seconds');
  }
  return Number(value);
}
