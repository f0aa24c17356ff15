import type { IncomingHttpHeaders } from 'node:http';
import { ServiceError } from './errors.js';

/** The request header by which a client says how old the mirror may be. */
export const MAX_STALENESS = 'directory-max-staleness';

/** Digits of the largest number: more than a thousand years. */
const SECONDS = /^\d{1,11}$/;

/**
 * How old the mirror may be for a request, in seconds; null: there is no bound.
 * @throws ServiceError BAD_REQUEST
 */
export function readMaxStaleness(headers: IncomingHttpHeaders): number | null {
  const value = headers[MAX_STALENESS];
  if (value === undefined) return null;
  if (typeof value !== 'string' || !SECONDS.test(value)) {
    throw new ServiceError('BAD_REQUEST', 'Directory-Max-Staleness must be one whole number of seconds');
  }
  return Number(value);
}
