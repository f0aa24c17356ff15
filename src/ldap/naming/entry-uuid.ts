import { hash } from 'node:crypto';
import { isUuid } from '../../common/uuid.js';
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
