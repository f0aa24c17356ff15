import { hash } from 'node:crypto';
import { isUuid } from '../../common/identity.js';
import { tryNormalizeDn } from './dn.js';
import { decodeUtf8, type Entry } from '../entry.js';

/** The namespace of X.500 DNs (RFC 9562 §6.6). */
const NAMESPACE = Buffer.from('6ba7b8149dad11d180b400c04fd430c8', 'hex');

/** Length in bytes of an identifier that is stored in binary form. */
const UUID_BYTES = 16;
/** The identifier of no entry (RFC 9562 §5.9). */
const NIL_UUID = '00000000-0000-0000-0000-000000000000';

/**
 * The UUID that identifies an entry, in lower case with dashes: the value of the attribute. Without the attribute, it is made of the DN.
 *
 * Text is a UUID (entryUUID, RFC 4530; ipaUniqueID), or 32 hexadecimal digits with hyphens in any place
 * (nsUniqueId of 389 Directory Server). Bytes are in the order of the text, except for objectGUID of Active
 * Directory ([MS-DTYP] 2.3.4).
 * @returns null when the value is not a UUID or has only zeros, or when the DN is needed and malformed
 */
export function uuidOfEntry(entry: Entry, attribute: string): string | null {
  const [bytes] = entry.bytes(attribute);
  if (bytes === undefined) return uuidOfDn(entry.dn);
  const name = attribute.toLowerCase();
  if (bytes.length === UUID_BYTES)
    return unlessNil(formatUuid((name === 'objectguid' ? swapGuid(bytes) : bytes).toString('hex')));
  const text = decodeUtf8(bytes)?.trim().toLowerCase() ?? '';
  const uuid = name === 'nsuniqueid' ? formatUuid(text.replaceAll('-', '')) : text;
  return isUuid(uuid) ? unlessNil(uuid) : null;
}

function unlessNil(uuid: string): string | null {
  return uuid === NIL_UUID ? null : uuid;
}

/**
 * The values of an attribute that has a UUID, by which filters find the entry: the inverse of uuidOfEntry. The syntax of an attribute
 * that no kind of server has is unknown, so there are two.
 */
export function identityValues(uuid: string, attribute: string): readonly Buffer[] {
  const digits = uuid.replaceAll('-', '');
  switch (attribute.toLowerCase()) {
    case 'entryuuid':
    case 'ipauniqueid':
      return [Buffer.from(uuid)];
    case 'nsuniqueid':
      return [Buffer.from(digits.replace(/(.{8})(?=.)/g, '$1-'))];
    case 'objectguid':
      return [swapGuid(Buffer.from(digits, 'hex'))];
    default:
      return [Buffer.from(uuid), Buffer.from(digits, 'hex')];
  }
}

/** Between the order of the text and the one of a GUID in bytes, whose first three numbers are little-endian. */
function swapGuid(bytes: Buffer): Buffer {
  const swapped = Buffer.from(bytes);
  swapped.subarray(0, 4).reverse();
  swapped.subarray(4, 6).reverse();
  swapped.subarray(6, 8).reverse();
  return swapped;
}

/** Formats 32 hexadecimal digits as a UUID. */
export function formatUuid(digits: string): string {
  // Every member of every group has a key in this form: a regular expression would take much longer.
  const [a, b, c, d] = [digits.slice(0, 8), digits.slice(8, 12), digits.slice(12, 16), digits.slice(16, 20)];
  return `${a}-${b}-${c}-${d}-${digits.slice(20)}`;
}

/**
 * The identifier of an entry without entryUUID: the version-5 UUID (RFC 9562 §5.5) of its normalized DN, in
 * lower case. A renamed entry gets a different UUID.
 * @returns null when the DN is malformed
 */
export function uuidOfDn(dn: string): string | null {
  const normalized = tryNormalizeDn(dn);
  if (normalized === null) return null;
  const bytes = hash('sha1', Buffer.concat([NAMESPACE, Buffer.from(normalized)]), 'buffer').subarray(0, 16);
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x50, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  return formatUuid(bytes.toString('hex'));
}

/**
 * The lookup key of a DN: the first 128 bits of the SHA-256 of the normalized DN, formatted as a UUID, because
 * a DN can be too long for an index entry. Text that is not a valid DN is hashed as it is; its key matches no
 * entry.
 */
export function keyOfDn(dn: string): string {
  return formatUuid(hash('sha256', tryNormalizeDn(dn) ?? dn, 'hex').slice(0, 32));
}

/** Revision, number of subauthorities, and a 48-bit authority. */
const HEADER_BYTES = 8;
const MOST_SUBAUTHORITIES = 15;

/**
 * Parses a security identifier (objectSid of Active Directory, [MS-DTYP] 2.4.2.2) (pure).
 * @returns its text, such as `S-1-5-21-1-2-3-513`; null when the bytes are not one
 */
export function parseSid(bytes: Buffer): string | null {
  if (bytes.length < HEADER_BYTES || bytes.readUInt8(0) !== 1) return null;
  const count = bytes.readUInt8(1);
  if (count === 0 || count > MOST_SUBAUTHORITIES || bytes.length !== HEADER_BYTES + 4 * count) return null;
  const parts = Array.from({ length: count }, (_, index) => bytes.readUInt32LE(HEADER_BYTES + 4 * index));
  return ['S-1', bytes.readUIntBE(2, 6), ...parts].join('-');
}

/**
 * Returns the security identifier of the primary group of a user, which is not among the members of that group (pure).
 * @param userSid objectSid of the user; the primary group is of the same domain
 * @param primaryGroupId the last part of the identifier of the group (RID), as text ([MS-ADA3] 2.120)
 * @returns the text of the identifier; null when either value is malformed, or the user is of no domain
 */
export function primaryGroupSid(userSid: Buffer, primaryGroupId: string): string | null {
  const sid = parseSid(userSid);
  const isRid = /^[1-9]\d{0,9}$/.test(primaryGroupId) && Number(primaryGroupId) <= 0xffffffff;
  if (sid === null || !isRid || !sid.startsWith('S-1-5-21-')) return null;
  return sid.replace(/\d+$/, primaryGroupId);
}
