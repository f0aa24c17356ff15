import type { FileHandle } from 'node:fs/promises';
import { decodeUtf8, type Entry } from '../../ldap/entry.js';
import { parseLdif } from '../../ldap/ldif/ldif.js';
import { SourceError } from '../source.error.js';

const CHUNK = 1 << 18;
/** The largest record in bytes: a group of two million members. Without a limit, a file without empty lines would take all memory. */
const LARGEST_RECORD = 160_000_000;

/** The records of a file cannot be read one by one, or do not have different bytes and DNs, so that it has to be read completely. */
export class IrregularRecordsError extends Error {}

export interface RecordBytes {
  readonly bytes: Buffer;
  /** Bytes from the beginning of the file. */
  readonly start: number;
}

/**
 * Splits a file at empty lines. Yields the records of each chunk together, because a promise for each takes longer than its hash.
 * @throws IrregularRecordsError for a record that is too large, or many empty lines at the beginning; SourceError when it cannot be read
 */
export async function* recordsOf(file: FileHandle): AsyncGenerator<RecordBytes[]> {
  const splitter = new RecordSplitter();
  for await (const chunk of chunksOf(file)) {
    const records = splitter.push(chunk);
    if (records.length > 0) yield records;
  }
  const last = splitter.end();
  if (last !== null) yield [last];
}

class RecordSplitter {
  /** The chunks of a record whose end has not been read. */
  private parts: Buffer[] = [];
  private size = 0;
  /** Of the first part. */
  private start = 0;
  /** The end of a line and an empty line, both written as the first line of the file. Other empty lines are within a record, and irregular. */
  private separator: string | null = null;

  push(chunk: Buffer): RecordBytes[] {
    this.separator ??= separatorOf(chunk);
    const lastBytes = this.parts.at(-1)?.subarray(1 - this.separator.length) ?? NOTHING;
    const hasEnd =
      chunk.includes(this.separator) ||
      Buffer.concat([lastBytes, chunk.subarray(0, 2)]).includes(this.separator);
    this.parts.push(chunk);
    this.size += chunk.length;
    if (this.size > LARGEST_RECORD && !hasEnd) throw new IrregularRecordsError();
    return hasEnd ? this.split(Buffer.concat(this.parts), this.separator) : [];
  }

  end(): RecordBytes | null {
    return this.size === 0 ? null : { bytes: Buffer.concat(this.parts), start: this.start };
  }

  private split(bytes: Buffer, separator: string): RecordBytes[] {
    const records: RecordBytes[] = [];
    const begin = afterEmptyLines(bytes, 0);
    if (this.start === 0 && begin === bytes.length) throw new IrregularRecordsError();
    // The first record includes the empty lines before it, because its place shows that it may have a version.
    let from = this.start === 0 ? 0 : begin;
    let end = bytes.indexOf(separator, begin);
    while (end >= 0) {
      records.push({ bytes: bytes.subarray(from, end + 1), start: this.start + from });
      from = afterEmptyLines(bytes, end + separator.length);
      end = bytes.indexOf(separator, from);
    }
    this.start += from;
    this.parts = [Buffer.from(bytes.subarray(from))];
    this.size = bytes.length - from;
    return records;
  }
}

const NOTHING = Buffer.alloc(0);

function separatorOf(beginning: Buffer): string {
  return beginning[beginning.indexOf('\n') - 1] === 0x0d ? '\n\r\n' : '\n\n';
}

async function* chunksOf(file: FileHandle): AsyncGenerator<Buffer> {
  try {
    yield* file.createReadStream({
      start: 0,
      autoClose: false,
      highWaterMark: CHUNK,
    }) as AsyncIterable<Buffer>;
  } catch (error) {
    throw new SourceError('The directory file cannot be read', { cause: error });
  }
}

function afterEmptyLines(bytes: Buffer, from: number): number {
  let position = from;
  for (;;) {
    if (bytes[position] === 0x0a) position++;
    else if (bytes[position] === 0x0d && bytes[position + 1] === 0x0a) position += 2;
    else return position;
  }
}

/** A version and a byte order mark belong to the beginning of a file, which a single record does not show. */
export function refuseBeginning(bytes: Buffer, start: number): void {
  if (start === 0) return;
  if (/^\s*(?:version:|\xef\xbb\xbf)/i.test(bytes.toString('latin1', 0, 20)))
    throw new IrregularRecordsError();
}

/**
 * Returns the entry of a record; null for comments only.
 * @throws LdifError; IrregularRecordsError for more than one entry
 */
export function parseRecord({ bytes, start }: RecordBytes): Entry | null {
  let found: Entry | null = null;
  for (const entry of parseLdif(bytes, start === 0)) {
    // A file with mixed line ends is one record.
    if (found !== null) throw new IrregularRecordsError();
    found = entry;
  }
  return found;
}

/** Matches the first line of most records, and a second one that does not continue it (RFC 2849, note 2). */
const FIRST_LINE = /^dn: +([^\r\n\0]+)\r?\n[^ ]/;
/** More bytes than most DNs have. */
const FIRST_BYTES = 1024;

/** Returns the DN of a record without parsing the rest; null if that is not possible. */
export function dnOfRecord(bytes: Buffer): string | null {
  const [, dn] = FIRST_LINE.exec(bytes.toString('latin1', 0, FIRST_BYTES)) ?? [];
  return dn === undefined ? null : decodeUtf8(Buffer.from(dn, 'latin1'));
}
