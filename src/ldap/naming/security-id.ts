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
