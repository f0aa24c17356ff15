import { copyBytes } from '../client/copy-bytes.js';
import { LdifError } from './ldif-error.js';
import { type LogicalLine } from './ldif-lines.js';

/** The attribute description and the value of one line. */
export interface AttributeValue {
  readonly description: string;
  /** A copy that stays valid after the line and keeps no other part of the file in memory. */
  readonly value: Buffer;
}

const SPACE = 0x20;
const COLON = 0x3a;
const LESS_THAN = 0x3c;
const EQUALS = 0x3d;
const MAXIMUM_DESCRIPTION_BYTES = 1024;

const BASE64 = new Uint8Array(256);
for (const byte of Buffer.from('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/')) {
  BASE64[byte] = 1;
}

/**
 * Parses an attrval-spec (RFC 2849): `description: text` or `description:: base64`. Text may contain any
 * bytes except NUL, line feed and carriage return, because tools write UTF-8 where the grammar requires
 * base64. Spaces after the colon are skipped; trailing spaces are part of the value. The description is not
 * validated.
 *
 * @throws {LdifError} for a line without a colon, for invalid base64, and for `:<`, because a directory must
 *   not make this service open URLs
 */
export function parseAttributeValue(line: LogicalLine): AttributeValue {
  const { bytes, length, number } = line;
  const colon = indexOfColon(bytes, length);
  if (colon === -1) {
    throw new LdifError(number, 'neither an attribute and its value, nor a comment, nor a continuation');
  }
  const description = bytes.toString('latin1', 0, colon);
  const kind = colon + 1 < length ? bytes[colon + 1] : undefined;
  if (kind === LESS_THAN) {
    throw new LdifError(number, 'a value given by URL, which is not supported');
  }
  const isBase64 = kind === COLON;
  let start = isBase64 ? colon + 2 : colon + 1;
  while (start < length && bytes[start] === SPACE) {
    start += 1;
  }
  if (!isBase64) {
    const value = Buffer.allocUnsafe(length - start);
    copyBytes(bytes, start, length, value, 0);
    return { description, value };
  }
  if (!isStrictBase64(bytes, start, length)) {
    throw new LdifError(number, 'a value that is not base64');
  }
  return { description, value: Buffer.from(bytes.toString('latin1', start, length), 'base64') };
}

function indexOfColon(bytes: Buffer, length: number): number {
  const end = Math.min(length, MAXIMUM_DESCRIPTION_BYTES + 1);
  for (let index = 0; index < end; index += 1) {
    if (bytes[index] === COLON) {
      return index;
    }
  }
  return -1;
}

/**
 * Whether bytes are base64 with padding (RFC 4648 §4). Node's decoder ignores invalid characters, which would
 * silently shorten a value.
 */
function isStrictBase64(bytes: Buffer, start: number, length: number): boolean {
  let end = length;
  if ((end - start) % 4 !== 0) {
    return false;
  }
  for (let padding = 0; padding < 2 && end > start && bytes[end - 1] === EQUALS; padding += 1) {
    end -= 1;
  }
  for (let index = start; index < end; index += 1) {
    if (BASE64[bytes[index] ?? 0] === 0) {
      return false;
    }
  }
  return true;
}
