import type { IncomingHttpHeaders } from 'node:http';
import { ServiceError } from '../common/errors.js';
import type { MirrorRead } from './revisions.js';

export function headersOfRead({ revision, asOf }: MirrorRead): Record<string, string> {
  const headers: Record<string, string> = { 'directory-revision': revision };
  if (asOf !== null) headers['directory-as-of'] = asOf.toISOString();
  return headers;
}

/** The request header with the maximum age of the mirror that the client accepts. */
const MAX_STALENESS = 'directory-max-staleness';

/** Limits the number of digits. The largest number is more than a thousand years. */
const SECONDS = /^\d{1,11}$/;

/** The maximum age of the mirror in seconds. Null: no bound. Throws ServiceError BAD_REQUEST. */
export function readMaxStaleness(headers: IncomingHttpHeaders): number | null {
  const value = headers[MAX_STALENESS];
  if (value === undefined) return null;
  if (typeof value !== 'string' || !SECONDS.test(value)) {
    throw new ServiceError('BAD_REQUEST', 'Directory-Max-Staleness must be one whole number of seconds');
  }
  return Number(value);
}
