import { Injectable } from '@nestjs/common';
import { ServiceError } from '../common/errors.js';
import { Revisions } from './revisions/revisions.js';
import type { IncomingHttpHeaders } from 'node:http';

/** Rejects requests for which the mirror is too old, and determines the freshness of responses. */
@Injectable()
export class Staleness {
  constructor(private readonly revisions: Revisions) {}

  /** Throws ServiceError STALE, or ServiceUnavailableError if the age cannot be determined. */
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
    return this.revisions.asOf;
  }

  /** Describes the revision of a response. `before` is the `asOf` that was known when the request began. */
  async describe(revision: string, before: Date | null): Promise<MirrorRead> {
    const asOf = await this.revisions.asOfRevision(revision).catch(() => null);
    return { revision, asOf: asOf ?? before };
  }
}

/** The state of the mirror from which a response was read. */
export interface MirrorRead {
  readonly revision: string;
  /** The revision contains every change that the directory had before this time. Null: unknown. */
  readonly asOf: Date | null;
}

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
