import { hash } from 'node:crypto';
import { tryNormalizeDn } from './dn.js';
import { formatUuid } from './entry-uuid.js';

/**
 * The lookup key of a DN: the first 128 bits of the SHA-256 of the normalized DN, formatted as a UUID, because
 * a DN can be too long for an index entry. Text that is not a valid DN is hashed as it is; its key matches no
 * entry.
 */
export function keyOfDn(dn: string): string {
  return formatUuid(hash('sha256', tryNormalizeDn(dn) ?? dn, 'hex').slice(0, 32));
}
