import { InvalidDnError, normalizeDn } from '../naming/dn.js';
import { attributeKey, decodeUtf8, Entry } from '../entry.js';
import { LdifError } from './ldif-error.js';
import { LdifLines, type LogicalLine } from './ldif-lines.js';
import { parseAttributeValue } from './ldif-value.js';

export interface LdifOptions {
  /** Size of the largest accepted line after unfolding, in bytes; a photo in base64 is one line. */
  readonly maximumLineBytes?: number;
}

const DEFAULT_MAXIMUM_LINE_BYTES = 32 * 1024 * 1024;
/** Bytes that are split into lines together. The record of a group can have many million bytes. */
const PART = 1 << 18;
const DESCRIPTION = /^(?:[A-Za-z][A-Za-z0-9-]*|\d+(?:\.\d+)+)(?:;[A-Za-z0-9-]+)*$/;

/**
 * Reads an LDIF content file (RFC 2849) entry by entry. Memory use is one entry, plus about a hundred bytes
 * for each DN, because a duplicate DN is an error.
 *
 * A value by URL is left out (Entry.withUrls). Beyond the grammar, the reader accepts a byte order mark, several blank lines, UTF-8 outside base64, and a
 * record that has only a DN. Records without a DN are rejected, including the trailer that `ldapsearch`
 * writes without `-LLL`: it may state that the search was truncated, and the omitted entries would appear
 * deleted.
 *
 * @throws {LdifError} at the first error; the entries before it have already been yielded
 */
export async function* readLdif(
  chunks: AsyncIterable<Buffer> | Iterable<Buffer>,
  options: LdifOptions = {},
): AsyncGenerator<Entry, void, undefined> {
  const lines = new LdifLines(options.maximumLineBytes ?? DEFAULT_MAXIMUM_LINE_BYTES);
  const records = new LdifRecords();
  for await (const chunk of chunks) yield* records.push(lines.push(chunk));
  yield* records.push(lines.end());
  yield* records.end();
}

/**
 * Reads a part of a file that is in memory, as far as the caller takes its entries.
 * @param line the number of its first line: only the beginning of a file may have a version
 * @throws {LdifError} as readLdif
 */
export function* parseLdif(bytes: Buffer, line: number): Generator<Entry, void, undefined> {
  const lines = new LdifLines(DEFAULT_MAXIMUM_LINE_BYTES, line);
  const records = new LdifRecords(line === 1);
  for (let from = 0; from < bytes.length; from += PART)
    yield* records.push(lines.push(bytes.subarray(from, from + PART)));
  yield* records.push(lines.end());
  yield* records.end();
}

class LdifRecords {
  private dn: string | null = null;
  private attributes = new Map<string, Buffer[]>();
  private withUrls = new Set<string>();
  private readonly seen = new Set<string>();

  constructor(private isBeginning = true) {}

  *push(lines: Iterable<LogicalLine>): Generator<Entry> {
    for (const line of lines) {
      if (line.text === '') yield* this.end();
      else if (!line.text.startsWith('#')) this.take(line);
    }
  }

  /** Yields the entry that the end of the record completes, if a record is open. */
  *end(): Generator<Entry> {
    if (this.dn === null) return;
    yield new Entry(this.dn, this.attributes, null, this.withUrls);
    this.dn = null;
    this.attributes = new Map();
    this.withUrls = new Set();
  }

  private take(line: LogicalLine): void {
    const { description, value } = parseAttributeValue(line);
    if (!DESCRIPTION.test(description)) throw new LdifError(line.number, 'an invalid attribute description');
    const key = attributeKey(description);
    if (this.dn !== null) this.addValue(key, value, line.number);
    else if (value === null)
      throw new LdifError(line.number, 'a value by URL where a dn or a version has to be');
    else if (key === 'version' && this.isBeginning) checkVersion(value, line.number);
    else this.dn = this.beginRecord(key, value, line.number);
    this.isBeginning = false;
  }

  private addValue(key: string, value: Buffer | null, line: number): void {
    if (key === 'dn') throw new LdifError(line, 'a second dn in one record; a blank line separates records');
    if (key === 'changetype' || key === 'control') {
      throw new LdifError(line, 'a change record; only content files can be read');
    }
    const values = this.attributes.get(key);
    if (value === null) this.withUrls.add(key);
    else if (values === undefined) this.attributes.set(key, [value]);
    else values.push(value);
  }

  /** Validates the first line of a record and returns its DN as written. */
  private beginRecord(key: string, value: Buffer, line: number): string {
    if (key === 'version') throw new LdifError(line, 'a version that is not at the beginning of the file');
    if (key !== 'dn') {
      throw new LdifError(line, 'a record that does not begin with dn (ldapsearch writes LDIF with -LLL)');
    }
    const dn = decodeUtf8(value);
    if (dn === null) throw new LdifError(line, 'a dn that is not UTF-8');
    const normalized = normalizeDnAt(dn, line);
    if (this.seen.has(normalized)) throw new LdifError(line, 'a dn that occurs in the file already');
    this.seen.add(normalized);
    return dn;
  }
}

function checkVersion(value: Buffer, line: number): void {
  if (value.toString('latin1') !== '1') throw new LdifError(line, 'a version other than 1');
}

function normalizeDnAt(dn: string, line: number): string {
  try {
    return normalizeDn(dn);
  } catch (error) {
    if (error instanceof InvalidDnError) throw new LdifError(line, error.message, { cause: error });
    throw error;
  }
}
