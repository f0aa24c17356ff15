import { attributeKey, decodeUtf8, Entry } from '../entry.js';
import { InvalidDnError, normalizeDn } from '../naming/dn.js';

/**
 * An LDIF file cannot be read. The message gives the line number and the reason, and never the content of the
 * line, because the message is logged and the directory contains personal data.
 */
export class LdifError extends Error {
  /** @param line number of the physical line, counted from 1; the first one of a folded line */
  constructor(
    readonly line: number,
    reason: string,
    options?: ErrorOptions,
  ) {
    super(`LDIF line ${line}: ${reason}`, options);
    this.name = 'LdifError';
  }
}

/** The part of a content file (RFC 2849) between two empty lines. */
export interface LdifRecord {
  /** One character for each byte (latin1). */
  readonly text: string;
  /** The number of its first line, counted from 1. */
  readonly line: number;
  /** Whether it is the first one, which may have a version. */
  readonly isFirst: boolean;
}

interface LogicalLine {
  /** One character for each byte (latin1). */
  readonly text: string;
  /** Number of the first physical line, counted from 1. */
  readonly number: number;
}

/** The largest record in bytes: a group of two million members. Without a limit, a file without empty lines would take all memory. */
const LARGEST_RECORD = 160_000_000;
const MAXIMUM_DESCRIPTION_BYTES = 1024;
const EMPTY_LINES = /\n((?:\r?\n)+)/;
const BYTE_ORDER_MARK = '\xef\xbb\xbf';
const DESCRIPTION = /^(?:[A-Za-z][A-Za-z0-9-]*|\d+(?:\.\d+)+)(?:;[A-Za-z0-9-]+)*$/;

/**
 * Reads the entries of a content file. Memory use is one record and one chunk.
 * @throws {LdifError} at the first error; the entries before it have already been yielded
 */
export async function* readLdif(
  chunks: AsyncIterable<Buffer> | Iterable<Buffer>,
): AsyncGenerator<Entry, void, undefined> {
  for await (const records of splitLdif(chunks))
    for (const record of records) {
      const entry = parseRecord(record);
      if (entry !== null) yield entry;
    }
}

/**
 * Splits a file at empty lines. The records of a chunk come together, because a promise for each takes longer than its hash.
 * @throws {LdifError} when a record is too large
 */
export async function* splitLdif(
  chunks: AsyncIterable<Buffer> | Iterable<Buffer>,
): AsyncGenerator<readonly LdifRecord[], void, undefined> {
  // The chunks of a record whose end has not been read.
  let parts: string[] = [];
  let size = 0;
  let tail = '';
  let line = 1;
  let isFirst = true;
  const take = (text: string, end = ''): LdifRecord[] => {
    const record = { text, line, isFirst };
    for (const each of [text, end]) for (let at = -1; (at = each.indexOf('\n', at + 1)) >= 0;) line++;
    line++;
    if (/^[\r\n]*$/.test(text)) return [];
    isFirst = false;
    return [record];
  };
  for await (const chunk of chunks) {
    const text = chunk.toString('latin1');
    const isSplit = EMPTY_LINES.test(tail + text);
    tail = (tail + text).slice(-2);
    parts.push(text);
    size += text.length;
    if (isSplit) {
      // Records, each followed by the line feeds after its last one, and the beginning of the next record.
      const pieces = parts.join('').split(EMPTY_LINES);
      const rest = pieces.pop() ?? '';
      yield pieces.flatMap((piece, index) => (index % 2 === 0 ? take(piece, pieces[index + 1]) : []));
      [parts, size] = [[rest], rest.length];
    }
    if (size > LARGEST_RECORD) throw new LdifError(line, 'a record that is too large');
  }
  yield take(parts.join(''));
}

/**
 * Parses a record. Null: it has only comments, or the version.
 *
 * A value by URL is left out (Entry.withUrls). Beyond the grammar, the reader accepts a byte order mark, several blank lines, UTF-8
 * outside base64, and a record that has only a DN. Records without a DN are rejected, including the trailer that `ldapsearch`
 * writes without `-LLL`: it may state that the search was truncated, and the omitted entries would appear deleted.
 * @throws {LdifError} at the first error
 */
export function parseRecord({ text, line: first, isFirst }: LdifRecord): Entry | null {
  let dn: string | null = null;
  let mayBeVersion = isFirst;
  const attributes = new Map<string, Buffer[]>();
  const withUrls = new Set<string>();
  for (const line of linesOf(text, first)) {
    if (line.text === '' || line.text.startsWith('#')) continue;
    const { description, value } = parseAttributeValue(line);
    if (!DESCRIPTION.test(description)) throw new LdifError(line.number, 'an invalid attribute description');
    const key = attributeKey(description);
    if (dn !== null) {
      requireContent(key, line.number);
      const values = attributes.get(key);
      if (value === null) withUrls.add(key);
      else if (values === undefined) attributes.set(key, [value]);
      else values.push(value);
    } else if (value === null)
      throw new LdifError(line.number, 'a value by URL where a dn or a version has to be');
    else if (key !== 'version') dn = readDn(key, value, line.number);
    else if (!mayBeVersion)
      throw new LdifError(line.number, 'a version that is not at the beginning of the file');
    else if (value.toString('latin1') !== '1') throw new LdifError(line.number, 'a version other than 1');
    mayBeVersion = false;
  }
  return dn === null ? null : new Entry(dn, attributes, withUrls);
}

function requireContent(key: string, line: number): void {
  if (key === 'dn') throw new LdifError(line, 'a second dn in one record; a blank line separates records');
  if (key === 'changetype' || key === 'control')
    throw new LdifError(line, 'a change record; only content files can be read');
}

/** Validates the first line of a record and returns its DN as written. */
function readDn(key: string, value: Buffer, line: number): string {
  if (key !== 'dn')
    throw new LdifError(line, 'a record that does not begin with dn (ldapsearch writes LDIF with -LLL)');
  const dn = decodeUtf8(value);
  if (dn === null) throw new LdifError(line, 'a dn that is not UTF-8');
  try {
    normalizeDn(dn);
    return dn;
  } catch (error) {
    if (error instanceof InvalidDnError) throw new LdifError(line, error.message, { cause: error });
    throw error;
  }
}

/**
 * Yields the unfolded lines (RFC 2849, notes 2 and 3). They have bytes, so that a fold cannot split a character.
 * @param written one character for each byte
 * @throws {LdifError} for a continuation without a line before it, and for a NUL or a carriage return inside a line
 */
export function* linesOf(written: string, first: number): Generator<LogicalLine, void, undefined> {
  let text = '';
  let number = 0;
  for (const [index, physical] of written.split('\n').entries()) {
    const here = first + index;
    const line = physical.endsWith('\r') ? physical.slice(0, -1) : physical;
    const [forbidden] = /[\0\r]/.exec(line) ?? [];
    if (forbidden !== undefined) {
      const name = forbidden === '\0' ? 'a NUL' : 'a carriage return';
      throw new LdifError(here, `${name} inside the line; such a value is written in base64`);
    }
    if (line.startsWith(' ')) {
      if (text === '') throw new LdifError(here, 'a continuation without a preceding line');
      text += line.slice(1);
      continue;
    }
    if (number > 0) yield { text, number };
    const isMarked = here === 1 && line.startsWith(BYTE_ORDER_MARK);
    [text, number] = [isMarked ? line.slice(BYTE_ORDER_MARK.length) : line, here];
  }
  yield { text, number };
}

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
  if (colon === -1 || colon > MAXIMUM_DESCRIPTION_BYTES)
    throw new LdifError(number, 'neither an attribute and its value, nor a comment, nor a continuation');
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
