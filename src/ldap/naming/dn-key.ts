import { hash } from 'node:crypto';
import { InvalidDnError, normalizeDn } from './dn.js';
import { formatUuid } from './entry-uuid.js';

/**
 * The lookup key of a DN: the first 128 bits of the SHA-256 of the normalized DN, formatted as a UUID, because
 * a DN can be too long for an index entry. Text that is not a valid DN is hashed as it is; its key matches no
 * entry.
 */
export function keyOfDn(dn: string): string {
  return formatUuid(hash('sha256', normalizeOrKeep(dn), 'hex').slice(0, 32));
}

function normalizeOrKeep(dn: string): string {
  try {
    return normalizeDn(dn);
  } catch (error) {
    if (error instanceof InvalidDnError) return dn;
    throw error;
  }
}
