import type { PersonalDataAccess } from '../../access-log/personal-data.decorator.js';
import type { Dependencies } from '../../database/statements/dependencies.js';
import type { OperationCost } from '../analysis/operation-cost.js';
import type { OperationLabel } from '../analysis/operation.js';
import type { Coding } from '../http/compression.js';
import { bytesOfDependencies } from './dependency-index.js';
import type { SignedPlace } from './url-renewal.js';

export interface CachedResponse {
  readonly name: string;
  body: Buffer;
  /** The body by coding, where a client has accepted it. */
  compressed: Partial<Record<Coding, Buffer>>;
  readonly contentType: string;
  readonly headers: Readonly<Record<string, string>>;
  /** A cached response has the cost of the first one. */
  readonly cost: OperationCost;
  /** The period of its signed URLs; null if it has none. */
  period: number | null;
  /** Where its signed URLs stand; null if they cannot be signed again. */
  readonly places: readonly SignedPlace[] | null;
  /** Null if no personal data is in it. */
  readonly personalData: PersonalDataAccess | null;
  readonly operation: OperationLabel | null;
  /** The id of the revision that it was read from; null if it contains nothing of the mirror. */
  readonly revision: string | null;
  /** What it was read from. A revision that changes nothing of it leaves it valid. */
  readonly reads: Dependencies;
}

/** Identifies equal requests under way. */
export interface FlightKey {
  readonly key: string;
  /** Everything else on which the result depends, and that can change while the key stays the same. */
  readonly stamp: string;
  /** Whether all requests with this key have the same viewer. */
  readonly isOfViewer: boolean;
}

/** The measured memory of an entry in bytes, with the overhead of allocations. */
export function bytesOf({ name, body, compressed, reads, places }: CachedResponse): number {
  const compressedBytes = (compressed.br?.length ?? 0) + (compressed.gzip?.length ?? 0);
  return (
    Math.ceil(1.25 * (body.length + compressedBytes)) +
    name.length +
    600 +
    bytesOfDependencies(reads) +
    100 * (places?.length ?? 0)
  );
}
