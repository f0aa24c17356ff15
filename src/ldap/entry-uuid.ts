import { createHash } from 'node:crypto';
import { normaliseDn } from './dn.js';

/** The namespace of X.500 DNs (RFC 9562 §6.6). */
const NAMESPACE = Buffer.from('6ba7b8149dad11d180b400c04fd430c8', 'hex');

/**
 * The identity of an entry that has no entryUUID: the version-5 UUID (RFC 9562 §5.5) of its normalised DN, in lower
 * case. The same DN gives the same UUID in every run and spelling; a renamed entry is another one.
 *
 * @throws {InvalidDnError} when the DN is malformed
 */
export function uuidOfDn(dn: string): string {
  const bytes = createHash('sha1').update(NAMESPACE).update(normaliseDn(dn), 'utf8').digest().subarray(0, 16);
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x50, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}
