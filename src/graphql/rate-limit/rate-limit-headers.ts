import type { Limit } from '../../limits/limit.js';
import type { Standing } from './rate-limiter.js';

/** The policy of a limit never changes. */
const policies = new WeakMap<Limit, string>();

/** The fields of draft-ietf-httpapi-ratelimit-headers. */
export function headersOf(standings: readonly Standing[]): Record<string, string> | null {
  let policy = '';
  let limits = '';
  for (const { limit, remaining, reset, cost } of standings) {
    const separator = policy === '' ? '' : ', ';
    policy += separator + policyOf(limit);
    limits += `${separator}"${limit.name}";r=${remaining};t=${reset}`;
    if (cost !== null) limits += `;directory-cost=${cost}`;
  }
  return policy === '' ? null : { 'ratelimit-policy': policy, ratelimit: limits };
}

function policyOf(limit: Limit): string {
  let policy = policies.get(limit);
  if (policy === undefined) {
    policy = `"${limit.name}";q=${limit.amount};w=${limit.window}`;
    policies.set(limit, policy);
  }
  return policy;
}
