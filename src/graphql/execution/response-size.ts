import { ServiceError } from '../../common/errors.js';
import type { LimitsConfig } from '../../config/settings/limits.js';

/** Maximum characters of a response for each node that an operation may request. Usual nodes have a fifth. */
const CHARACTERS_PER_NODE = 2000;
/** The characters of a number, a boolean or null. */
const SHORT = 5;

/**
 * Rejects data whose JSON would be too large, before it is written: that takes memory, and no other request runs meanwhile.
 * Aliases repeat texts of any length, which the data has once in memory.
 * @throws ServiceError QUERY_TOO_COMPLEX
 */
export function refuseLargeData(data: unknown, limits: Pick<LimitsConfig, 'nodes'>): void {
  const limit = limits.nodes * CHARACTERS_PER_NODE;
  if (countCharacters(data, limit) <= limit) return;
  throw new ServiceError(
    'QUERY_TOO_COMPLEX',
    `The response of this operation is too long: at most ${limit} characters are allowed`,
  );
}

/** The approximate length of a value as JSON. It stops counting above the limit. */
function countCharacters(value: unknown, limit: number): number {
  if (typeof value === 'string') return value.length + 2;
  if (typeof value !== 'object' || value === null) return SHORT;
  let count = 2;
  for (const [name, each] of Object.entries(value)) {
    count += Array.isArray(value) ? 1 : name.length + 4;
    count += countCharacters(each, limit - count);
    if (count > limit) break;
  }
  return count;
}
