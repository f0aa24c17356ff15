import { foldId } from '../common/fold.js';
import type { Viewer } from '../database/visibility/viewer.js';
import { OUTSIDER } from '../database/visibility/viewer.js';
import type { Principal } from './principal.js';

/**
 * For whom a principal reads the mirror.
 * @param bypass the scope of tokens that see everything; null: there is none
 */
export function viewerOf(principal: Principal | null, bypass: string | null): Viewer {
  if (principal === null) return OUTSIDER;
  const { subject, scopes, limitedTo = null } = principal;
  return {
    id: subject === null ? null : foldId(subject),
    seesHidden: bypass !== null && scopes.has(bypass),
    limitedTo,
  };
}
