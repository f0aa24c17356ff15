import type { IncomingHttpHeaders } from 'node:http';
import { Injectable } from '@nestjs/common';
import { ServiceError } from '../../common/errors.js';
import { Revisions } from '../../database/revisions/revisions.js';

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

/** Refuses what would be answered from a mirror that is older than the client accepts. */
@Injectable()
export class Staleness {
  constructor(private readonly revisions: Revisions) {}

  /**
   * @param maxStaleness seconds; null: there is no bound
   * @throws ServiceError STALE; ServiceUnavailableError when the age cannot be told
   */
  async refuse(maxStaleness: number | null): Promise<void> {
    if (maxStaleness === null) return;
    const age = await this.revisions.readAge();
    // Without a revision each field says so.
    if (age === null || age <= maxStaleness) return;
    const ageSeconds = Number.isFinite(age) ? Math.ceil(age) : null;
    throw new ServiceError('STALE', 'The answers would be older than Directory-Max-Staleness allows', {
      retryAfter: 1,
      maxStaleness,
      ...(ageSeconds === null ? {} : { ageSeconds }),
    });
  }
}
