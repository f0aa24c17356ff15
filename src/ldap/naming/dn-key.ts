import { hash } from 'node:crypto';
import { InvalidDnError, normaliseDn } from './dn.js';

/**
 * Stands for a DN wherever entries are looked up by it: the first half of the SHA-256 of the normalised DN, written
 * as a UUID. A DN may have thousands of characters, and an index entry has not; equal keys mean equal DNs. What is
 * no DN has a key too, of its text as it is, and so names nothing.
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
