import { LdifError } from './ldif-error.js';
import { type LogicalLine } from './ldif-lines.js';

const MAXIMUM_DESCRIPTION_BYTES = 1024;

/**
 * Parses an attrval-spec (RFC 2849): `description: text` or `description:: base64`. Text may contain any
 * bytes except NUL, line feed and carriage return, because tools write UTF-8 where the grammar requires
 * base64. Spaces after the colon are skipped; trailing spaces are part of the value. The description is not
 * validated.
 *
 * @returns null as the value for `description:< URL`, because a directory must not make this service open URLs
 * @throws {LdifError} for a line without a colon, and for invalid base64
 */
export function parseAttributeValue({ text, number }: LogicalLine): {
  description: string;
  value: Buffer | null;
} {
  const colon = text.indexOf(':');
  if (colon === -1 || colon > MAXIMUM_DESCRIPTION_BYTES) {
    throw new LdifError(number, 'neither an attribute and its value, nor a comment, nor a continuation');
  }
  const description = text.slice(0, colon);
  const kind = text[colon + 1];
  if (kind === '<') return { description, value: null };
  const isBase64 = kind === ':';
  const written = text.slice(isBase64 ? colon + 2 : colon + 1).replace(/^ +/, '');
  if (isBase64 && !isStrictBase64(written)) throw new LdifError(number, 'a value that is not base64');
  return { description, value: Buffer.from(written, isBase64 ? 'base64' : 'latin1') };
}

/** Base64 with padding (RFC 4648 §4). Node's decoder ignores invalid characters, which shortens a value. */
function isStrictBase64(text: string): boolean {
  return text.length % 4 === 0 && !/[^A-Za-z0-9+/]/.test(text.replace(/={1,2}$/, ''));
}
