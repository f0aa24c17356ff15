import { Injectable } from '@nestjs/common';
import { ServiceError } from '../common/errors.js';
import type { MirrorRead } from './mirror-read.js';
import { Revisions } from './revisions/revisions.js';

/**
 * Rejects requests when the mirror is older than the client accepts, and determines the freshness of
 * responses.
 */
@Injectable()
export class Staleness {
  constructor(private readonly revisions: Revisions) {}

  /**
   * @param maxStaleness seconds; null for no limit
   * @throws ServiceError STALE; ServiceUnavailableError when the age cannot be determined
   */
  async refuse(maxStaleness: number | null): Promise<void> {
    if (maxStaleness === null) return;
    const age = await this.revisions.readAge();
    // Without a revision, each field reports its own error.
    if (age === null || age <= maxStaleness) return;
    const ageSeconds = Number.isFinite(age) ? Math.ceil(age) : null;
    throw new ServiceError('STALE', 'The answers would be older than Directory-Max-Staleness allows', {
      retryAfter: 1,
      maxStaleness,
      ...(ageSeconds === null ? {} : { ageSeconds }),
    });
  }

  /** The `asOf` that is known now. Anything read later is at least as fresh. */
  get asOf(): Date | null {
    return this.revisions.freshness.asOf;
  }

  /**
   * Describes the revision from which a response was read.
   * @param before the `asOf` that was known when the request began
   */
  async describe(revision: string, before: Date | null): Promise<MirrorRead> {
    const asOf = await this.revisions.asOfRevision(revision).catch(() => null);
    return { revision, asOf: asOf ?? before };
  }
}
