import { createHash } from 'node:crypto';
import { InvalidDnError, normalizeDn } from './dn.js';
import { decodeUtf8, type Entry } from '../entry.js';

/** The namespace of X.500 DNs (RFC 9562 §6.6). */
const NAMESPACE = Buffer.from('6ba7b8149dad11d180b400c04fd430c8', 'hex');

/** Length in bytes of an identifier that is stored in binary form (objectGUID of Active Directory). */
const UUID_BYTES = 16;

/**
 * The UUID that identifies an entry: the value of the attribute, as text (RFC 4530) or as 16 bytes. If the
 * entry does not have the attribute, the UUID is derived from its DN.
 *
 * @returns the UUID in lower case with dashes; null when the value is not a UUID, or when the DN is needed
 *   and malformed
 */
export function uuidOfEntry(entry: Entry, attribute: string): string | null {
  const [bytes] = entry.bytes(attribute);
  if (bytes !== undefined) return parseUuid(bytes);
  try {
    return uuidOfDn(entry.dn);
  } catch (error) {
    if (error instanceof InvalidDnError) return null;
    throw error;
  }
}

/** Parses a UUID as text or as 16 bytes. Null: it is neither. */
export function parseUuid(bytes: Buffer): string | null {
  if (bytes.length === UUID_BYTES) return formatUuid(bytes.toString('hex'));
  const text = decodeUtf8(bytes)?.trim().toLowerCase() ?? '';
  return /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(text) ? text : null;
}

/** Formats 32 hexadecimal digits as a UUID. */
export function formatUuid(digits: string): string {
  return digits.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

/**
 * The identifier of an entry without entryUUID: the version-5 UUID (RFC 9562 §5.5) of its normalized DN, in
 * lower case. A renamed entry gets a different UUID.
 * @throws {InvalidDnError} when the DN is malformed
 */
export function uuidOfDn(dn: string): string {
  const bytes = createHash('sha1').update(NAMESPACE).update(normalizeDn(dn), 'utf8').digest().subarray(0, 16);
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x50, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  return formatUuid(bytes.toString('hex'));
}
