import { Injectable } from '@nestjs/common';
import { ServiceError } from '../common/errors.js';
import type { MirrorRead } from './mirror-read.js';
import { Revisions } from './revisions/revisions.js';

/** Refuses what would be answered from a mirror that is older than the client accepts, and tells how fresh answers are. */
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

  /** The `asOf` that is known now: whatever is read later is at least as fresh. */
  get asOf(): Date | null {
    return this.revisions.freshness.asOf;
  }

  /**
   * What an answer tells of the revision that it was read from.
   * @param before the `asOf` that was known when the answer was begun
   */
  async describe(revision: string, before: Date | null): Promise<MirrorRead> {
    const asOf = await this.revisions.asOfRevision(revision).catch(() => null);
    return { revision, asOf: asOf ?? before };
  }
}
