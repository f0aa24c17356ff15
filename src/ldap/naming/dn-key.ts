import { hash } from 'node:crypto';
import { InvalidDnError, normaliseDn } from './dn.js';

/**
 * The lookup key of a DN: the first 128 bits of the SHA-256 of the normalized DN, formatted as a UUID. A DN
 * may have thousands of characters, which is too long for an index entry. Equal keys mean equal DNs. Text
 * that is not a valid DN is hashed without normalization; its key matches no entry.
 */
export function keyOfDn(dn: string): string {
  const digest = hash('sha256', normaliseOrKeep(dn), 'hex');
  return digest.slice(0, 32).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

function normaliseOrKeep(dn: string): string {
  try {
    return normaliseDn(dn);
  } catch (error) {
    if (error instanceof InvalidDnError) return dn;
    throw error;
  }
}
